import { describe, expect, it } from 'vitest';
import type { WorkerReport } from '../../../src/protocol/report.ts';
import { Outbox } from '../../../src/worker/link/outbox.ts';
import { buildReport } from '../../../src/worker/report.ts';
import { deviceStatus } from '../support.ts';

const INTERVAL = 300;

/** A report that can be distinguished by its number. */
function report(number: number): WorkerReport {
  const machine = { memory: null, disk: null, cpu: { cores: 1, usedPercent: 0 } };
  return buildReport({ status: deviceStatus(), machine, figures: new Map(), isUpdate: true, now: number });
}

function next(outbox: Outbox, now: number): number | null {
  return outbox.next(now)?.report_creation_time ?? null;
}

describe('when a report is due', () => {
  it.each<[string, (outbox: Outbox) => void, number, boolean]>([
    ['never before the first change', () => undefined, 10_000, false],
    ['not at once after a change', (outbox) => outbox.noteChange(10), 11.9, false],
    ['two seconds after a change', (outbox) => outbox.noteChange(10), 12, true],
    [
      'two seconds after the first of many changes',
      (outbox) => {
        for (let at = 10; at < 12; at += 0.1) outbox.noteChange(at);
      },
      12,
      true,
    ],
    ['not before the interval has passed', (outbox) => outbox.put(report(1), 10), 309, false],
    ['after the interval', (outbox) => outbox.put(report(1), 10), 310, true],
  ])('%s', (_name, prepare, now, isDue) => {
    const outbox = new Outbox(INTERVAL);
    prepare(outbox);
    expect(outbox.isDue(now)).toBe(isDue);
  });

  it('is what nextAt says', () => {
    const outbox = new Outbox(INTERVAL);
    expect(outbox.nextAt(5)).toBe(Number.POSITIVE_INFINITY);
    outbox.noteChange(5);
    expect(outbox.nextAt(5)).toBe(7);
    outbox.put(report(1), 7);
    expect(outbox.nextAt(7)).toBe(7);
    outbox.next(7);
    outbox.settle('accepted', 8, 0.5);
    expect(outbox.nextAt(8)).toBe(307);
  });
});

describe('an outbox', () => {
  it('keeps the newest report while it cannot be sent, and counts those that it replaced', () => {
    const outbox = new Outbox(INTERVAL);
    for (const number of [0, 1, 2]) {
      outbox.put(report(number), 0);
      if (number === 0) outbox.next(0);
      if (number === 0) outbox.settle('failed', 0, 0.5);
    }
    expect(next(outbox, 4)).toBeNull();
    expect(outbox.nextAt(4)).toBe(5);
    expect(next(outbox, 5)).toBe(2);
    outbox.settle('accepted', 5, 0.5);
    expect(next(outbox, 6)).toBeNull();
    expect(outbox.dropped).toBe(2);
  });

  it('waits longer with each failure, up to five minutes', () => {
    const outbox = new Outbox(1_000_000);
    outbox.put(report(0), 0);
    let now = 0;
    const waits = Array.from({ length: 8 }, () => {
      outbox.next(now);
      outbox.settle('failed', now, 1);
      const wait = outbox.nextAt(now) - now;
      now += wait;
      return wait;
    });
    expect(waits).toEqual([10, 20, 40, 80, 160, 300, 300, 300]);
  });

  it('drops a report that the manager refuses', () => {
    const outbox = new Outbox(INTERVAL);
    outbox.put(report(0), 0);
    expect(next(outbox, 0)).toBe(0);
    outbox.settle('refused', 0, 0.5);
    expect(next(outbox, 0)).toBeNull();
    expect(outbox.dropped).toBe(1);
  });

  it.each([
    ['accepted', 0],
    ['refused', 1],
    ['failed', 1],
  ] as const)('sends a report that was made while another was %s, %i of which is lost', (result, lost) => {
    const outbox = new Outbox(INTERVAL);
    outbox.put(report(0), 0);
    outbox.next(0);
    outbox.put(report(1), 1);
    outbox.settle(result, 2, 0);
    expect(next(outbox, 100)).toBe(1);
    expect(outbox.dropped).toBe(lost);
  });
});
