import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, it, onTestFinished } from 'vitest';
import { SMALL_FLEET, startManager } from '../support/manager.ts';

const INFO = '/api/v2/device_groups/edge/info';

it('tells the log once a minute for each cause why polls are refused, however many come', async () => {
  let minutes = 0;
  const now = (): number => Date.now() + minutes * 60_000;
  const manager = await startManager({ files: SMALL_FLEET, logLevel: 'info', now });
  const db = new DatabaseSync(join(manager.dataFolder, 'store.sqlite'), { timeout: 1000 });
  onTestFinished(() => db.close());
  for (const table of ['state', 'device_groups']) db.exec(`ALTER TABLE ${table} RENAME TO away_${table}`);
  const poll = async (times: number): Promise<void> => {
    for (let count = 0; count < times; count++) expect((await manager.get(INFO)).status).toBe(503);
  };
  const told = () => manager.log.filter((line) => JSON.stringify(line).includes('/info'));
  await poll(20);
  await expect.poll(() => told().length).toBe(1);
  expect(told()).toMatchObject([
    { level: 50, msg: 'devices get no reply', url: INFO, refused: 1, err: { type: 'HoldfastError' } },
  ]);
  minutes = 2;
  await poll(1);
  await expect.poll(() => told().length).toBe(2);
  expect(told()[1]).toMatchObject({ msg: 'devices get no reply', refused: 20 });
});
