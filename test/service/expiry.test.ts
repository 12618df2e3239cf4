import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HoldfastError } from '../../src/errors.ts';
import { startReportExpiry } from '../../src/service/expiry.ts';
import { openInTemporaryFolder } from '../store/open-sqlite.ts';
import { wrap } from '../support/engine.ts';
import type { FlatStore } from '../support/flat-store.ts';

const silent = pino({ level: 'silent' });
async function emptyStore(): Promise<FlatStore> {
  const { store, cleanup } = await openInTemporaryFolder();
  onTestFinished(cleanup);
  return store;
}

/** Lets a test decide when the next sweep is due. */
function useFakeIntervals(): void {
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
}

const report = { hostname: 'till-1', device_group: 'edge', report_creation_time: 1 };

describe('startReportExpiry', () => {
  it('deletes reports that arrived more than the lifetime ago, whatever creation time they have', async () => {
    const store = await emptyStore();
    const now = Date.now();
    await store.insertReports(
      [{ ...report, hostname: 'old', report_creation_time: 9_999_999_999 }],
      now - 120_000,
    );
    await store.insertReports([{ ...report, hostname: 'new' }], now);
    const stop = startReportExpiry(store, 60_000, Date.now, silent);
    const hosts = async () => (await store.reports({ pageSize: 10 })).data.map((one) => one.report.hostname);
    await expect.poll(hosts, { timeout: 60_000 }).toEqual(['new']);
    stop();
  });

  it('logs a failure in full, then once a minute, another reason, and the end of the failures', async () => {
    useFakeIntervals();
    const store = await emptyStore();
    const lines: Record<string, unknown>[] = [];
    const failures: (string | null)[] = [
      'the disk is full',
      'the disk is full',
      'the disk is gone',
      null,
      null,
      'the disk is full',
    ];
    let sweeps = 0;
    const failing = wrap(store, {
      expireReports: async (before) => {
        const reason = failures[sweeps++] ?? null;
        if (reason !== null) throw new HoldfastError('unavailable', reason);
        return store.expireReports(before);
      },
    });
    const logger = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) });
    let now = Date.now();
    const stop = startReportExpiry(failing, 600_000, () => now, logger);
    await expect.poll(() => lines.length).toBe(1);
    for (let minute = 1; minute < failures.length; minute++) {
      now += 60_000;
      await vi.advanceTimersByTimeAsync(60_000);
      await expect.poll(() => sweeps).toBe(minute + 1);
    }
    await expect.poll(() => lines.length).toBe(5);
    expect(lines).toMatchObject([
      { level: 40, msg: 'reports could not be expired', reason: 'the disk is full', kind: 'unavailable' },
      { level: 40, msg: 'reports could not be expired', reason: 'the disk is full', failures: 1 },
      { level: 40, msg: 'reports could not be expired', reason: 'the disk is gone' },
      { level: 30, msg: 'reports are expired again', after: 'the disk is gone' },
      { level: 40, msg: 'reports could not be expired', reason: 'the disk is full' },
    ]);
    stop();
  });

  it('logs no failure of a sweep that the end of the manager cuts short', async () => {
    const store = await emptyStore();
    const now = Date.now();
    await store.insertReports(Array(3000).fill(report), now - 120_000);
    const lines: string[] = [];
    const sweeps: Promise<number>[] = [];
    const observed = wrap(store, {
      expireReports: (before) => {
        const sweep = store.expireReports(before);
        sweeps.push(sweep);
        return sweep;
      },
    });
    const logger = pino({ level: 'info' }, { write: (line) => void lines.push(line) });
    const stop = startReportExpiry(observed, 60_000, () => now, logger);
    stop();
    await store.close();
    await expect(sweeps[0]).rejects.toThrow('the store is closed');
    await setImmediate();
    expect(lines).toEqual([]);
  });

  it('starts no sweep while one is running', async () => {
    useFakeIntervals();
    const store = await emptyStore();
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
    ['minute if the lifetime is a week', 604_800_000, 60_000],
    ['tenth of the lifetime if it is a minute', 60_000, 6000],
    ['second if the lifetime is two seconds', 2000, 1000],
  ])('sweeps every %s', async (_, lifetime, interval) => {
    useFakeIntervals();
    const store = await emptyStore();
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
});
