import { expect } from 'vitest';
import { SMALL_FLEET, startManager, type TestManager } from './manager.ts';
import { Worker } from './worker.ts';

export const WEB = '/api/v2/apps/web';
export const PATIENCE = { timeout: 20_000 };

export async function statusOf(manager: TestManager) {
  return (await manager.get('/api/v2/reconcile')).body;
}

export async function webId(manager: TestManager): Promise<number> {
  return (await manager.get(WEB)).body.app_id;
}

export function logged(manager: TestManager, msg: string): unknown[] {
  return manager.log.filter((line) => line['msg'] === msg);
}

/** A manager whose record is written, and a device that follows it. */
export async function recordedFleet(): Promise<[TestManager, Worker]> {
  const manager = await startManager({ files: SMALL_FLEET });
  const worker = new Worker();
  await worker.poll(manager);
  return [manager, worker];
}

export async function expectFollows(worker: Worker, manager: TestManager): Promise<void> {
  expect(worker.agreesWith(await worker.poll(manager))).toBe(true);
  await manager.put(`${WEB}/update`, { env_vars: { LAST: String(await webId(manager)) } });
  worker.actions = [];
  expect(worker.agreesWith(await worker.poll(manager))).toBe(true);
  expect(worker.actions).toEqual(['restart web']);
}
