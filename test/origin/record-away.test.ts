import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RECORD } from '../support/lost-store.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';
import { sectionOf } from '../support/record-files.ts';

const WEB = '/api/v2/apps/web';

const messages = ({ log }: TestManager): unknown[] => log.map(({ msg }) => msg);

const appId = async (manager: TestManager): Promise<number> => (await manager.get(WEB)).body.app_id;

/** How far the record at origin goes. */
async function recordedAt({ bare }: TestOrigin): Promise<number> {
  return JSON.parse(await bare.show(`${sectionOf('desired-state', 'main')}/meta.json`, RECORD)).idSequence;
}

/** Starts a manager whose record is at origin; resolves once it knows that. */
async function startRecorded(origin: TestOrigin): Promise<TestManager> {
  const manager = await startFollower(origin);
  const record = async () => (await manager.get('/api/v2/reconcile')).body.ids_record;
  await expect.poll(record).toMatchObject({ id_sequence: expect.any(Number), problem: null });
  return manager;
}

/** Raises an id while origin is away, and stops. */
async function stopAway(manager: TestManager, origin: TestOrigin): Promise<number> {
  await rename(origin.url, `${origin.url}.away`);
  expect((await manager.post(`${WEB}/restart`)).status).toBe(202);
  const id = await appId(manager);
  await manager.stop();
  await rename(`${origin.url}.away`, origin.url);
  return id;
}

describe('ids that cannot be sent to origin before the end', () => {
  it('are recorded in the mirror, and the log says so; a store that is lost then gives none of them again', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startRecorded(origin);
    const id = await stopAway(manager, origin);
    expect(manager.log.filter(({ msg }) => msg === 'ids are not recorded')).toMatchObject([
      { reason: expect.stringMatching(/^the record of ids is kept only in the mirror .*no repository at/) },
    ]);
    await rm(join(manager.dataFolder, 'store.sqlite'));
    const next = await manager.restart();
    expect(await appId(next)).toBe(id);
  });

  it('are there soon after the next start, though nothing changes', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startRecorded(origin);
    await stopAway(manager, origin);
    const before = await recordedAt(origin);
    await manager.restart();
    await expect.poll(() => recordedAt(origin)).toBeGreaterThan(before);
  });

  it('are there soon after origin is back, while the manager runs', async () => {
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
