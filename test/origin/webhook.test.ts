import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeFiles } from '../support/folder.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';
import { type SshOrigin, serveSsh, waitForFirstRecord } from '../support/ssh-origin.ts';

const SECRET = 'hook';
const PAYLOAD = '{}';
const WEB = 'desired-state/apps/web.yaml';
const OPTIONS = {
  raw: PAYLOAD,
  authorization: null,
  headers: {
    'x-hub-signature-256': `sha256=${createHmac('sha256', SECRET).update(PAYLOAD).digest('hex')}`,
  },
};

interface WebhookTest {
  origin: TestOrigin;
  ssh: SshOrigin;
  manager: TestManager;
  /** From now on a fetch that has read origin waits until `release` is called. */
  hold(): Promise<void>;
  release(): Promise<void>;
}

async function startWithWebhook(): Promise<WebhookTest> {
  const origin = await testOrigin(SMALL_FLEET);
  const ssh = await serveSsh(origin.url);
  const settings = { WEBHOOK_SECRET: SECRET };
  const manager = await startFollower({ ...origin, url: ssh.url }, { path: ssh.path, settings });
  await waitForFirstRecord(origin);
  const gate = join(await temporaryFolder(), 'gate');
  const hold = (): Promise<void> =>
    ssh.behave(
      `case "$command" in *upload-pack*) sh -c "$command"; while ! test -e '${gate}'; do sleep 0.05; done; exit 0;; esac\n`,
    );
  return { origin, ssh, manager, hold, release: () => writeFiles(join(gate, '..'), { gate: '' }) };
}

const callWebhook = ({ manager }: WebhookTest) => manager.request('POST', '/webhook', OPTIONS);
const fetches = ({ ssh }: WebhookTest): Promise<number> => ssh.fetches();
const appliedRevision = async ({ manager }: WebhookTest): Promise<string> =>
  (await manager.get('/api/v2/reconcile')).body.revision_applied;

describe('POST /webhook while a fetch is under way', () => {
  it('leads to one more fetch, which brings the pushed commit', async () => {
    const fixture = await startWithWebhook();
    const before = await fetches(fixture);
    await fixture.hold();
    await callWebhook(fixture);
    await expect.poll(() => fetches(fixture)).toBe(before + 1);
    // The first fetch has perhaps read origin already, so this commit comes with the second.
    const id = await fixture.origin.push({ [WEB]: 'container_image: hook:1\n' });
    await callWebhook(fixture);
    await fixture.release();
    await expect.poll(() => appliedRevision(fixture)).toBe(id);
    expect(await fetches(fixture)).toBe(before + 2);
  });

  it('leads to one more fetch even if it is called a hundred times', async () => {
    const fixture = await startWithWebhook();
    const before = await fetches(fixture);
    await fixture.hold();
    await callWebhook(fixture);
    await expect.poll(() => fetches(fixture)).toBe(before + 1);
    const id = await fixture.origin.push({ [WEB]: 'container_image: flood:1\n' });
    const replies = await Promise.all(Array.from({ length: 100 }, () => callWebhook(fixture)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([202]));
    expect(await fetches(fixture)).toBe(before + 1);
    await fixture.release();
    await expect.poll(() => appliedRevision(fixture)).toBe(id);
    // This fetch of our own comes after all that the webhook asked for.
    await fixture.manager.reconcile();
    expect(await fetches(fixture)).toBe(before + 3);
  });
});
