import { expect } from 'vitest';
import { recordTip } from './lost-store.ts';
import { SMALL_FLEET, startManager, type TestManager } from './manager.ts';
import { recordsOf } from './manager-state.ts';
import { Worker } from './worker.ts';

export const WEB = '/api/v2/apps/web';
export const WEB_FILE = 'desired-state/apps/web.yaml';
export const CRON_FILE = 'desired-state/apps/cron.yaml';
export const WEB_A = SMALL_FLEET['apps/web.yaml'];
export const WEB_B = 'container_image: nginx:b\n';
export const WEB_C = 'container_image: nginx:c\n';

/** A fleet with a life behind it, and a device that saw all of it. */
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

/** A manager whose record is written, and a device that follows it. */
export async function startRecordedFleet(): Promise<[TestManager, Worker]> {
  const manager = await startManager({ files: SMALL_FLEET });
  const worker = new Worker();
  await worker.poll(manager);
  return [manager, worker];
}

export async function push(manager: TestManager, files: Record<string, string | null>): Promise<void> {
  await manager.repository.commit(files);
  await manager.reconcile();
}

/** The ids, without what a new store makes anew. */
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

export async function statusOf(manager: TestManager) {
  return (await manager.get('/api/v2/reconcile')).body;
}

export async function seededOf(manager: TestManager) {
  return (await statusOf(manager)).ids_seeded;
}

export async function webId(manager: TestManager): Promise<number> {
  return (await manager.get(WEB)).body.app_id;
}

export function logged(manager: TestManager, msg: string): unknown[] {
  return manager.log.filter((line) => line['msg'] === msg);
}

/** The device ends with what the manager wants, and a change after that reaches it too. */
export async function expectFollows(worker: Worker, manager: TestManager): Promise<void> {
  expect(worker.agreesWith(await worker.poll(manager))).toBe(true);
  await manager.put(`${WEB}/update`, { env_vars: { LAST: String(await webId(manager)) } });
  await manager.put('/api/v2/device_groups/edge/update', { apps: ['cron', 'web'] });
  worker.actions = [];
  expect(worker.agreesWith(await worker.poll(manager))).toBe(true);
  expect(worker.actions).toEqual(['restart web']);
}

/** Waits until the record has everything, and gives its tip. */
export async function recorded(manager: TestManager): Promise<string> {
  const { revision_applied } = await statusOf(manager);
  await expect.poll(async () => (await statusOf(manager)).ids_record.revision).toBe(revision_applied);
  return recordTip(manager);
}
