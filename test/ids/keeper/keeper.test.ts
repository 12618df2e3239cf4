import { describe, expect, it, vi } from 'vitest';
import { HoldfastError } from '../../../src/errors.ts';
import { NO_FAULTS } from '../../../src/faults.ts';
import { createKeeper, type Keeper } from '../../../src/ids/keeper/keeper.ts';
import type { RecordStatus } from '../../../src/ids/keeper/status.ts';
import { buildEngine, wrap } from '../../support/engine.ts';

const FILES = { 'apps/web.yaml': 'container_image: web:1\n' };

interface Setup {
  keeper: Keeper;
  /** The statuses that were reported. */
  statuses: RecordStatus[];
  /** The number of reads of the record. */
  reads(): number;
  isWritten(): Promise<boolean>;
}

/** A keeper of a store that has ids; the first `failures` reads of the record fail. */
async function setUp(failures: number, kind: 'unavailable' | 'conflict' = 'unavailable'): Promise<Setup> {
  const { store, source, reconciler } = await buildEngine({ files: FILES });
  await reconciler.reconcile();
  let reads = 0;
  let time = 1000;
  const record = wrap(source.record, {
    tip: async () => {
      reads += 1;
      if (reads <= failures) throw new HoldfastError(kind, 'git was ended');
      return source.record.tip();
    },
  });
  const statuses: RecordStatus[] = [];
  const keeper = createKeeper({
    record,
    store,
    counters: store,
    faults: NO_FAULTS,
    reader: source.reader,
    now: () => time++,
    random: () => 0,
    emit: (_, data) => {
      if ('status' in data) statuses.push(data.status);
    },
  });
  const isWritten = async (): Promise<boolean> => (await source.record.read()) !== null;
  return { keeper, statuses, reads: () => reads, isWritten };
}

describe('the write of the record when the manager stops', () => {
  it('is retried if git was ended by the same signal as the manager', async () => {
    const { keeper, statuses, isWritten } = await setUp(2);
    await keeper.close();
    expect(await isWritten()).toBe(true);
    expect([keeper.status().problem, statuses]).toEqual([null, []]);
  });

  it('is given up after three failures, which are reported', async () => {
    const { keeper, statuses, reads, isWritten } = await setUp(100);
    await keeper.close();
    expect([await isWritten(), reads()]).toEqual([false, 3]);
    expect(statuses).toMatchObject([{ problem: { message: 'git was ended' } }]);
  });

  it('is not retried after a conflict, which an operator must resolve', async () => {
    const { keeper, reads } = await setUp(100, 'conflict');
    await keeper.close();
    expect(reads()).toBe(1);
  });

  it('is the last one: later changes are not written', async () => {
    const { keeper, reads } = await setUp(0);
    await keeper.close();
    const before = reads();
    vi.useFakeTimers();
    keeper.scheduleWrite();
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    expect(reads()).toBe(before);
  });
});

it('a lasting problem is reported at each failure, with the time of its start, and its end once', async () => {
  const { keeper, statuses } = await setUp(2);
  await keeper.flush();
  const { problem } = keeper.status();
  await keeper.flush();
  expect(keeper.status().problem).toEqual(problem);
  await keeper.flush();
  const { recorded } = keeper.status();
  expect(recorded).toMatchObject({ idSequence: expect.any(Number), at: expect.any(Number) });
  await keeper.flush();
  expect(keeper.status().recorded).toEqual(recorded);
  expect(statuses.map((status) => status.problem)).toEqual([problem, problem, null]);
  expect(problem?.message).toBe('git was ended');
  await keeper.close();
});

it('a change does not shorten the wait for a retry', async () => {
  const { keeper, reads } = await setUp(100);
  vi.useFakeTimers();
  // The third failure in a row, after which a retry waits for a second.
  for (let failure = 1; failure <= 3; failure++) await keeper.flush();
  keeper.scheduleWrite();
  await vi.advanceTimersByTimeAsync(999);
  expect(reads()).toBe(3);
  await vi.advanceTimersByTimeAsync(1);
  vi.useRealTimers();
  expect(reads()).toBe(4);
  await keeper.close();
});
