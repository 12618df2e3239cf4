import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';
import { REMOTE_RECORD } from '../support/record-files.ts';

const WEB = '/api/v2/apps/web';

const messages = ({ log }: TestManager): unknown[] => log.map(({ msg }) => msg);

const appId = async (manager: TestManager): Promise<number> => (await manager.get(WEB)).body.app_id;

/** The sequence number of ids up to which the record at origin goes. */
async function recordedAt({ bare }: TestOrigin): Promise<number> {
  return JSON.parse(await bare.show('meta.json', REMOTE_RECORD)).idSequence;
}

/** Starts a manager; resolves once it reports that its record is at origin. */
async function startRecorded(origin: TestOrigin): Promise<TestManager> {
  const manager = await startFollower(origin);
  const record = async () => (await manager.get('/api/v2/reconcile')).body.ids_record;
  await expect.poll(record).toMatchObject({ id_sequence: expect.any(Number), problem: null });
  return manager;
}

/** Raises an id while origin is unreachable, stops the manager, and brings origin back. Resolves to the id. */
async function stopWhileUnreachable(manager: TestManager, origin: TestOrigin): Promise<number> {
  await rename(origin.url, `${origin.url}.away`);
  expect((await manager.post(`${WEB}/restart`)).status).toBe(202);
  const id = await appId(manager);
  await manager.stop();
  await rename(`${origin.url}.away`, origin.url);
  return id;
}

describe('ids that rise while origin is unreachable', () => {
  it('are recorded in the mirror at a stop, with a line in the log, and outlive the loss of the store', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startRecorded(origin);
    const id = await stopWhileUnreachable(manager, origin);
    expect(manager.log.filter(({ msg }) => msg === 'ids are not recorded')).toMatchObject([
      {
        reason: expect.stringMatching(
          /^the record of ids is kept only in the mirror .*not appear to be a git repository/,
        ),
      },
    ]);
    await rm(join(manager.dataFolder, 'store.sqlite'));
    const next = await manager.restart();
    expect(await appId(next)).toBe(id);
  });

  it('are sent to origin soon after the next start, although nothing changes', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startRecorded(origin);
    await stopWhileUnreachable(manager, origin);
    const before = await recordedAt(origin);
    await manager.restart();
    await expect.poll(() => recordedAt(origin)).toBeGreaterThan(before);
  });

  it('are sent to origin soon after it is back, while the manager runs', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startRecorded(origin);
    const before = await recordedAt(origin);
    await rename(origin.url, `${origin.url}.away`);
    await manager.post(`${WEB}/restart`);
    await expect.poll(() => messages(manager)).toContain('ids are not recorded');
    await rename(`${origin.url}.away`, origin.url);
    await expect.poll(() => recordedAt(origin)).toBeGreaterThan(before);
    await expect.poll(() => messages(manager)).toContain('ids are recorded again');
  });
});
