import { pino } from 'pino';
import { expect, it, onTestFinished, vi } from 'vitest';
import { HoldfastError } from '../../src/errors.ts';
import { startReportExpiry } from '../../src/service/expiry.ts';
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
  const stop = startReportExpiry(store, 60_000, Date.now, silent);
  const hosts = async () =>
    (await store.reports({ pageSize: 10 })).value.data.map((one) => one.report.hostname);
  await expect.poll(hosts, { timeout: 60_000 }).toEqual(['new']);
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
  const stop = startReportExpiry(away, 600_000, Date.now, logger);
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

it('begins no sweep while one is under way', async () => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { store } = await buildEngine({ files: { 'apps/web.yaml': 'container_image: a\n' } });
  const ends: (() => void)[] = [];
  const slow = wrap(store, {
    expireReports: () => new Promise((resolve) => void ends.push(() => resolve(0))),
  });
  const stop = startReportExpiry(slow, 600_000, Date.now, silent);
  await vi.advanceTimersByTimeAsync(300_000);
  expect(ends).toHaveLength(1);
  ends[0]?.();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(ends).toHaveLength(2);
  stop();
});

it.each([
  ['a week: each minute', 604_800_000, 60_000],
  ['a minute: each tenth of it', 60_000, 6000],
  ['two seconds: each second', 2000, 1000],
])('sweeps as often as the lifetime asks for: %s', async (_, lifetime, interval) => {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { store } = await buildEngine({ files: { 'apps/web.yaml': 'container_image: a\n' } });
  let sweeps = 0;
  const counted = wrap(store, {
    expireReports: async () => {
      sweeps += 1;
      return 0;
    },
  });
  const stop = startReportExpiry(counted, lifetime, Date.now, silent);
  await vi.advanceTimersByTimeAsync(interval - 1);
  expect(sweeps).toBe(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(sweeps).toBe(2);
  stop();
});
