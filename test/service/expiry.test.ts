import { pino } from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import { HoldfastError } from '../../src/errors.ts';
import { expireReports } from '../../src/service/expiry.ts';
import { buildEngine, wrap } from '../support/engine.ts';

const silent = pino({ level: 'silent' });
const report = { hostname: 'till-1', device_group: 'edge', report_creation_time: 1 };

it('drops reports that arrived too long ago, whatever time they tell, and keeps the others', async () => {
  const { store } = await buildEngine({ files: { 'apps/web.yaml': 'container_image: a\n' } });
  const now = Date.now();
  await store.insertReports(
    [{ ...report, hostname: 'old', report_creation_time: 9_999_999_999 }],
    now - 120_000,
  );
  await store.insertReports([{ ...report, hostname: 'new' }], now);
  const stop = expireReports(store, 60_000, Date.now, silent);
  const hosts = async () =>
    (await store.reports({ pageSize: 10 })).value.data.map((one) => one.report.hostname);
  await expect.poll(hosts, { timeout: 20_000 }).toEqual(['new']);
  stop();
});

it('says why it could not, once for each reason, and when it can again', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { store } = await buildEngine({ files: { 'apps/web.yaml': 'container_image: a\n' } });
  const lines: Record<string, unknown>[] = [];
  const trouble: (string | null)[] = ['the disk is full', 'the disk is full', 'the disk is gone', null, null];
  let sweeps = 0;
  const away = wrap(store, {
    expireReports: async (before) => {
      const reason = trouble[sweeps++] ?? null;
      if (reason !== null) throw new HoldfastError('unavailable', reason);
      return store.expireReports(before);
    },
  });
  const logger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
  const stop = expireReports(away, 60_000, Date.now, logger);
  for (let minute = 1; minute < trouble.length; minute++) {
    await vi.advanceTimersByTimeAsync(60_000);
    await expect.poll(() => sweeps).toBe(minute + 1);
  }
  await expect.poll(() => lines.length).toBe(3);
  expect(lines).toMatchObject([
    { level: 40, msg: 'reports could not be expired', reason: 'the disk is full' },
    { level: 40, msg: 'reports could not be expired', reason: 'the disk is gone' },
    { level: 30, msg: 'reports are expired again', after: 'the disk is gone' },
  ]);
  stop();
});
