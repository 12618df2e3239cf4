import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeFiles } from '../support/folder.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';
import { firstRecord, type SshOrigin, serveSsh } from '../support/ssh-origin.ts';

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

interface Place {
  origin: TestOrigin;
  ssh: SshOrigin;
  manager: TestManager;
  /** Fetches have read origin, and wait; until `release` is called. */
  hold(): Promise<void>;
  release(): Promise<void>;
}

async function newPlace(): Promise<Place> {
  const origin = await testOrigin(SMALL_FLEET);
  const ssh = await serveSsh(origin.url);
  const settings = { WEBHOOK_SECRET: SECRET };
  const manager = await startFollower({ ...origin, url: ssh.url }, { path: ssh.path, settings });
  await firstRecord(origin);
  const gate = join(await temporaryFolder(), 'gate');
  const hold = (): Promise<void> =>
    ssh.behave(
      `case "$command" in *upload-pack*) sh -c "$command"; while ! test -e '${gate}'; do sleep 0.05; done; exit 0;; esac\n`,
    );
  return { origin, ssh, manager, hold, release: () => writeFiles(join(gate, '..'), { gate: '' }) };
}

const hook = ({ manager }: Place) => manager.request('POST', '/webhook', OPTIONS);
const fetches = ({ ssh }: Place): Promise<number> => ssh.fetches();
const revision = async ({ manager }: Place): Promise<string> =>
  (await manager.get('/api/v2/reconcile')).body.revision_applied;

describe('POST /webhook while a fetch is under way', () => {
  it('leads to one more fetch, which sees its commit', async () => {
    const place = await newPlace();
    const before = await fetches(place);
    await place.hold();
    await hook(place);
    await expect.poll(() => fetches(place)).toBe(before + 1);
    // The first fetch may have read origin already; what is pushed now comes with the second.
    const id = await place.origin.push({ [WEB]: 'container_image: hook:1\n' });
    await hook(place);
    await place.release();
    await expect.poll(() => revision(place)).toBe(id);
    expect(await fetches(place)).toBe(before + 2);
  });

  it('a hundred times leads to one more fetch', async () => {
    const place = await newPlace();
    const before = await fetches(place);
    await place.hold();
    await hook(place);
    await expect.poll(() => fetches(place)).toBe(before + 1);
    const id = await place.origin.push({ [WEB]: 'container_image: flood:1\n' });
    const replies = await Promise.all(Array.from({ length: 100 }, () => hook(place)));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([202]));
    expect(await fetches(place)).toBe(before + 1);
    await place.release();
    await expect.poll(() => revision(place)).toBe(id);
    // One look of our own comes after all of theirs.
    await place.manager.reconcile();
    expect(await fetches(place)).toBe(before + 3);
  });
});
