import { describe, expect, it, vi } from 'vitest';
import { HoldfastError } from '../../../src/errors.ts';
import { createRecorder, type Recorder, type RecordStatus } from '../../../src/ids/record/recorder.ts';
import { buildEngine, wrap } from '../../support/engine.ts';

const FILES = { 'apps/web.yaml': 'container_image: web:1\n' };

interface Setup {
  recorder: Recorder;
  /** The statuses that were reported. */
  statuses: RecordStatus[];
  /** The number of reads of the record. */
  reads(): number;
  isWritten(): Promise<boolean>;
}

/** A recorder of a store that has ids; the first `failures` reads of the record fail. */
async function setUp(failures: number, kind: 'unavailable' | 'conflict' = 'unavailable'): Promise<Setup> {
  const { store, source, reconciler } = await buildEngine({ files: FILES });
  await reconciler.reconcile();
  let reads = 0;
  let time = 1000;
  const record = wrap(source.record, {
    read: async () => {
      reads += 1;
      if (reads <= failures) throw new HoldfastError(kind, 'git was ended');
      return source.record.read();
    },
  });
  const statuses: RecordStatus[] = [];
  const recorder = createRecorder({
    record,
    store,
    reader: source.reader,
    now: () => time++,
    random: () => 0,
    emit: (_, { status }) => void statuses.push(status),
  });
  const isWritten = async (): Promise<boolean> => (await source.record.read()) !== null;
  return { recorder, statuses, reads: () => reads, isWritten };
}

describe('the write of the record when the manager stops', () => {
  it('is retried if git was ended by the same signal as the manager', async () => {
    const { recorder, statuses, isWritten } = await setUp(2);
    await recorder.close();
    expect(await isWritten()).toBe(true);
    expect([recorder.status().problem, statuses]).toEqual([null, []]);
  });

  it('is given up after three failures, which are reported', async () => {
    const { recorder, statuses, reads, isWritten } = await setUp(100);
    await recorder.close();
    expect([await isWritten(), reads()]).toEqual([false, 3]);
    expect(statuses).toMatchObject([{ problem: { message: 'git was ended' } }]);
  });

  it('is not retried after a conflict, which an operator must resolve', async () => {
    const { recorder, reads } = await setUp(100, 'conflict');
    await recorder.close();
    expect(reads()).toBe(1);
  });

  it('is the last one: later changes are not written', async () => {
    const { recorder, reads } = await setUp(0);
    await recorder.close();
    const before = reads();
    vi.useFakeTimers();
    recorder.scheduleWrite();
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    expect(reads()).toBe(before);
  });
});

it('a lasting problem is reported at each failure, with the time of its start, and its end once', async () => {
  const { recorder, statuses } = await setUp(2);
  await recorder.flush();
  const { problem } = recorder.status();
  await recorder.flush();
  expect(recorder.status().problem).toEqual(problem);
  await recorder.flush();
  const { recorded } = recorder.status();
  expect(recorded).toMatchObject({ idSequence: expect.any(Number), at: expect.any(Number) });
  await recorder.flush();
  expect(recorder.status().recorded).toEqual(recorded);
  expect(statuses.map((status) => status.problem)).toEqual([problem, problem, null]);
  expect(problem?.message).toBe('git was ended');
  await recorder.close();
});
