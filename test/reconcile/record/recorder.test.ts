import { describe, expect, it, vi } from 'vitest';
import { HoldfastError } from '../../../src/errors.ts';
import { createRecorder, type Recorder, type RecordStatus } from '../../../src/reconcile/record/recorder.ts';
import { buildEngine, wrap } from '../../support/engine.ts';

const FILES = { 'apps/web.yaml': 'container_image: web:1\n' };

interface Setup {
  recorder: Recorder;
  told: RecordStatus[];
  /** How often the record was read. */
  reads(): number;
  isWritten(): Promise<boolean>;
}

/** A recorder of a store that has ids, on a repository whose git fails the first times that it is asked. */
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
  const told: RecordStatus[] = [];
  const recorder = createRecorder({
    record,
    store,
    reader: source.reader,
    now: () => time++,
    random: () => 0,
    onStatus: (status) => void told.push(status),
  });
  const isWritten = async (): Promise<boolean> => (await source.record.read()) !== null;
  return { recorder, told, reads: () => reads, isWritten };
}

describe('the last version of the record', () => {
  it('is written although git is ended at the same moment as the manager', async () => {
    const { recorder, told, isWritten } = await setUp(2);
    await recorder.close();
    expect(await isWritten()).toBe(true);
    expect([recorder.status().problem, told]).toEqual([null, []]);
  });

  it('is given up where git stays away, and that is told', async () => {
    const { recorder, told, reads, isWritten } = await setUp(100);
    await recorder.close();
    expect([await isWritten(), reads()]).toEqual([false, 3]);
    expect(told).toMatchObject([{ problem: { message: 'git was ended' } }]);
  });

  it('is not tried again where somebody has to look at it', async () => {
    const { recorder, reads } = await setUp(100, 'conflict');
    await recorder.close();
    expect(reads()).toBe(1);
  });

  it('is the last one: nothing is written that changes later', async () => {
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

it('a problem that lasts is told once, with its beginning, and so is its end', async () => {
  const { recorder, told } = await setUp(2);
  await recorder.flush();
  const { problem } = recorder.status();
  await recorder.flush();
  expect(recorder.status().problem).toEqual(problem);
  await recorder.flush();
  const { recorded } = recorder.status();
  expect(recorded).toMatchObject({ idSequence: expect.any(Number), at: expect.any(Number) });
  await recorder.flush();
  expect(recorder.status().recorded).toEqual(recorded);
  expect(told.map((status) => status.problem)).toEqual([problem, null]);
  expect(problem?.message).toBe('git was ended');
  await recorder.close();
});
