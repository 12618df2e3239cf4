import { expect } from 'vitest';
import { recordTip } from './lost-store.ts';
import { SMALL_FLEET, startManager, type TestManager } from './manager.ts';
import { recordsOf } from './manager-state.ts';
import { Worker } from './worker.ts';

/** The app `web` in the API. */
export const WEB = '/api/v2/apps/web';
export const WEB_FILE = 'desired-state/apps/web.yaml';
export const CRON_FILE = 'desired-state/apps/cron.yaml';

/** Three texts of the file of `web`: that of `SMALL_FLEET`, and two others. */
export const WEB_A = SMALL_FLEET['apps/web.yaml'];
export const WEB_B = 'container_image: nginx:b\n';
export const WEB_C = 'container_image: nginx:c\n';

/**
 * Starts a manager of `SMALL_FLEET` whose apps and group were changed, restarted and pruned some times, and a device
 * that has polled since.
 */
export async function startFleetWithHistory(
  options: { now?: () => number } = {},
): Promise<[TestManager, Worker]> {
  const manager = await startManager({ files: SMALL_FLEET, ...options });
  const worker = new Worker();
  await manager.put(`${WEB}/update`, { privileged: true });
  await manager.put(`${WEB}/update`, { privileged: false });
  await manager.post('/api/v2/apps/cron/restart');
  await manager.post('/api/v2/device_groups/edge/prune');
  await worker.poll(manager);
  worker.actions = [];
  return [manager, worker];
}

/**
 * Starts a manager of `SMALL_FLEET`, which writes its record of ids at the start, and a device that has polled once.
 */
export async function startRecordedFleet(): Promise<[TestManager, Worker]> {
  const manager = await startManager({ files: SMALL_FLEET });
  const worker = new Worker();
  await worker.poll(manager);
  return [manager, worker];
}

/** Commits files (null deletes one) to the repository of the manager, and has the manager apply them. */
export async function commitAndApply(
  manager: TestManager,
  files: Record<string, string | null>,
): Promise<void> {
  await manager.repository.commit(files);
  await manager.reconcile();
}

/** Every id by kind and name: `app web`, `group edge`, `prune edge`. */
export async function idsOf(manager: TestManager): Promise<Record<string, number>> {
  const { apps, groups } = await recordsOf(manager);
  const ids: Record<string, number> = {};
  for (const [name, app] of Object.entries(apps)) ids[`app ${name}`] = (app as { app_id: number }).app_id;
  for (const [name, group] of Object.entries(groups)) {
    const { device_group_id, prune_id } = group as { device_group_id: number; prune_id: number };
    ids[`group ${name}`] = device_group_id;
    ids[`prune ${name}`] = prune_id;
  }
  return ids;
}

/** What `GET /api/v2/reconcile` answers. */
export async function statusOf(manager: TestManager) {
  return (await manager.get('/api/v2/reconcile')).body;
}

/** `ids_seeded` of the status: what the manager took over at its start; null if nothing. */
export async function seededOf(manager: TestManager) {
  return (await statusOf(manager)).ids_seeded;
}

/** The `app_id` of `web`. */
export async function webId(manager: TestManager): Promise<number> {
  return (await manager.get(WEB)).body.app_id;
}

/** The lines of the manager's log with this message. */
export function logged(manager: TestManager, msg: string): unknown[] {
  return manager.log.filter((line) => line['msg'] === msg);
}

/**
 * Expects that the device runs what the manager serves after its next poll, and that it acts on a change after that.
 */
export async function expectFollows(worker: Worker, manager: TestManager): Promise<void> {
  expect(worker.agreesWith(await worker.poll(manager))).toBe(true);
  await manager.put(`${WEB}/update`, { env_vars: { LAST: String(await webId(manager)) } });
  await manager.put('/api/v2/device_groups/edge/update', { apps: ['cron', 'web'] });
  worker.actions = [];
  expect(worker.agreesWith(await worker.poll(manager))).toBe(true);
  expect(worker.actions).toEqual(['restart web']);
}

/** Waits until the record of ids is that of the applied revision; resolves to the commit of the record. */
export async function waitForRecord(manager: TestManager): Promise<string> {
  const { revision_applied } = await statusOf(manager);
  await expect.poll(async () => (await statusOf(manager)).ids_record.revision).toBe(revision_applied);
  return recordTip(manager);
}
