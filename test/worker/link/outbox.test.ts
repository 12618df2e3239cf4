import { describe, expect, it } from 'vitest';
import type { WorkerReport } from '../../../src/protocol/report.ts';
import { Outbox, type ReportKind } from '../../../src/worker/link/outbox.ts';
import { buildReport } from '../../../src/worker/report.ts';
import { deviceStatus } from '../support.ts';

const INTERVAL = 300;

/** A report that can be distinguished by its number; `size` more bytes make it large. */
function report(number: number, size = 0): WorkerReport {
  const status = deviceStatus({ revision: 'x'.repeat(size) });
  const machine = { memory: null, disk: null, cpu: { cores: 1, usedPercent: 0 } };
  return buildReport({ status, machine, figures: new Map(), isUpdate: true, now: number });
}

function numbers(reports: readonly WorkerReport[]): number[] {
  return reports.map(({ report_creation_time }) => report_creation_time);
}

/** An outbox that took reports of changes with the numbers 0, 1, 2… at the time 0. */
function outboxWith(count: number, size = 0): Outbox {
  const outbox = new Outbox(INTERVAL);
  for (let number = 0; number < count; number++) outbox.put('change', report(number, size), 0);
  return outbox;
}

/** Sends batches, to a manager that answers each as `answer` says, until nothing is left to send. */
function sendAll(
  outbox: Outbox,
  answer: (batch: number[]) => 'accepted' | 'refused' | 'too-large',
): number[][] {
  const batches: number[][] = [];
  for (let batch = outbox.batch(0); batch.length > 0; batch = outbox.batch(0)) {
    batches.push(numbers(batch));
    outbox.settle(answer(numbers(batch)), 0, 0.5);
    if (batches.length > 500) throw new Error('it never ends');
  }
  return batches;
}

describe('when a report is due', () => {
  it.each<[string, (outbox: Outbox) => void, number, ReportKind | null]>([
    ['never before the first change', () => undefined, 10_000, null],
    ['not at once after a change', (outbox) => outbox.noteChange(10), 11.9, null],
    ['two seconds after a change', (outbox) => outbox.noteChange(10), 12, 'change'],
    [
      'two seconds after the first of many changes',
      (outbox) => {
        for (let at = 10; at < 12; at += 0.1) outbox.noteChange(at);
      },
      12,
      'change',
    ],
    ['not before the interval has passed', (outbox) => outbox.put('change', report(1), 10), 309, null],
    ['after the interval', (outbox) => outbox.put('change', report(1), 10), 310, 'periodic'],
    ['again after each interval', (outbox) => outbox.put('periodic', report(1), 310), 610, 'periodic'],
    [
      'for a change rather than for the interval',
      (outbox) => {
        outbox.put('change', report(1), 0);
        outbox.noteChange(298);
      },
      300,
      'change',
    ],
  ])('%s', (_name, prepare, now, kind) => {
    const outbox = new Outbox(INTERVAL);
    prepare(outbox);
    expect(outbox.due(now)).toBe(kind);
  });

  it('is what nextAt says', () => {
    const outbox = new Outbox(INTERVAL);
    expect(outbox.nextAt(5)).toBe(Number.POSITIVE_INFINITY);
    outbox.noteChange(5);
    expect(outbox.nextAt(5)).toBe(7);
    outbox.put('change', report(1), 7);
    expect(outbox.nextAt(7)).toBe(7);
    outbox.batch(7);
    outbox.settle('accepted', 8, 0.5);
    expect(outbox.nextAt(8)).toBe(307);
  });
});

describe('an outbox', () => {
  it('keeps reports of changes while they cannot be sent, and sends them in order later', () => {
    const outbox = outboxWith(3);
    outbox.batch(0);
    outbox.settle('failed', 0, 0.5);
    expect(outbox.batch(4)).toEqual([]);
    expect(outbox.nextAt(4)).toBe(5);
    expect(numbers(outbox.batch(5))).toEqual([0, 1, 2]);
    outbox.settle('accepted', 5, 0.5);
    expect(outbox.batch(6)).toEqual([]);
    expect(outbox.dropped).toBe(0);
  });

  it('waits longer with each failure, up to five minutes', () => {
    const outbox = new Outbox(1_000_000);
    outbox.put('change', report(0), 0);
    let now = 0;
    const waits = Array.from({ length: 8 }, () => {
      outbox.batch(now);
      outbox.settle('failed', now, 1);
      const wait = outbox.nextAt(now) - now;
      now += wait;
      return wait;
    });
    expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('does not keep a periodic report that cannot be sent, and does not count it as lost', () => {
    const outbox = outboxWith(1);
    outbox.put('periodic', report(7), 0);
    expect(numbers(outbox.batch(0))).toEqual([0, 7]);
    outbox.settle('failed', 0, 0);
    expect(numbers(outbox.batch(10))).toEqual([0]);
    expect(outbox.dropped).toBe(0);
  });

  it('replaces a periodic report that was not sent by a newer report', () => {
    const outbox = new Outbox(INTERVAL);
    outbox.put('periodic', report(1), 0);
    outbox.put('change', report(2), 1);
    expect(numbers(outbox.batch(1))).toEqual([2]);
  });

  it('keeps the newest hundred reports, and counts the others as dropped', () => {
    const outbox = outboxWith(130);
    expect(numbers(outbox.batch(0))).toEqual(Array.from({ length: 100 }, (_, index) => index + 30));
    expect(outbox.dropped).toBe(30);
  });

  it('keeps a megabyte, and counts older reports as dropped', () => {
    const outbox = outboxWith(10, 300_000);
    expect(numbers(outbox.batch(0))).toEqual([7, 8, 9]);
    expect(outbox.dropped).toBe(7);
  });

  it('keeps a single report of more than a megabyte', () => {
    expect(outboxWith(2, 2_000_000).batch(0)).toHaveLength(1);
  });

  it('drops only the report that the manager refuses', () => {
    const outbox = outboxWith(9);
    const batches = sendAll(outbox, (batch) => (batch.includes(5) ? 'refused' : 'accepted'));
    const taken = batches.filter((batch) => !batch.includes(5)).flat();
    expect(taken).toEqual([0, 1, 2, 3, 4, 6, 7, 8]);
    expect(outbox.dropped).toBe(1);
  });

  it('halves a batch that is too large, and drops a report that is too large alone', () => {
    const outbox = outboxWith(8);
    const batches = sendAll(outbox, (batch) =>
      batch.length > 2 || batch.includes(3) ? 'too-large' : 'accepted',
    );
    expect(batches.slice(0, 3)).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7],
      [0, 1, 2, 3],
      [0, 1],
    ]);
    expect(outbox.dropped).toBe(1);
    expect(batches.at(-1)).not.toContain(3);
  });

  it('keeps reports that were added while others were sent', () => {
    const outbox = outboxWith(2);
    expect(numbers(outbox.batch(0))).toEqual([0, 1]);
    outbox.put('change', report(2), 1);
    outbox.settle('accepted', 2, 0.5);
    expect(numbers(outbox.batch(2))).toEqual([2]);
  });

  it('does not count a report as lost twice that was displaced while it was refused', () => {
    const outbox = outboxWith(1);
    outbox.batch(0);
    for (let number = 1; number <= 100; number++) outbox.put('change', report(number), 0);
    outbox.settle('refused', 0, 0.5);
    expect(outbox.dropped).toBe(1);
  });
});
