import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createProgressLog } from '../../../src/service/observability/progress.ts';

/** A progress log with a clock that the test sets. */
function setUp(hasTerminal: boolean) {
  const lines: Record<string, unknown>[] = [];
  const drawn: string[] = [];
  const clock = { now: 5000 };
  const report = createProgressLog({
    logger: pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) }),
    draw: hasTerminal ? (text) => drawn.push(text) : null,
    elapsed: () => clock.now,
  });
  /** Reports, when this time has passed, that `done` of 1,000 files are read. */
  const read = (done: number, milliseconds: number): void => {
    clock.now += milliseconds;
    report({ phase: 'reading', done, total: 1000 });
  };
  return { lines, drawn, read, report, clock };
}

describe('createProgressLog', () => {
  it('reports nothing of short work', () => {
    const { lines, drawn, read } = setUp(true);
    read(500, 0);
    read(1000, 90);
    expect({ lines, drawn }).toEqual({ lines: [], drawn: [] });
  });

  it('logs the progress of long work every few seconds', () => {
    const { lines, read } = setUp(false);
    for (let done = 100; done <= 1000; done += 100) read(done, 700);
    expect(lines).toMatchObject([{ done: 600, total: 1000, msg: 'reading files' }]);
  });

  it('draws the progress on a terminal, and erases it at the end', () => {
    const { drawn, read } = setUp(true);
    for (const done of [0, 500, 1000]) read(done, 200);
    expect(drawn).toEqual([`reading files [${'#'.repeat(15)}${'.'.repeat(15)}] 50 % of 1000`, '']);
  });

  it('erases the bar before it logs a line', () => {
    const { drawn, lines, read } = setUp(true);
    const logged: number[] = [];
    for (let done = 100; done <= 1000; done += 100) {
      read(done, 700);
      logged.push(lines.length);
    }
    expect(logged).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    expect(drawn.map((text) => / (\d+) %/.exec(text)?.[1] ?? text)).toEqual([
      '20',
      '30',
      '40',
      '50',
      '60',
      '',
      '70',
      '80',
      '90',
      '',
    ]);
  });

  it('measures the time of work that follows a pause separately, too', () => {
    const { lines, drawn, read } = setUp(true);
    read(500, 0);
    read(1000, 90);
    read(1, 60_000);
    read(2, 99);
    expect({ lines, drawn }).toEqual({ lines: [], drawn: [] });
  });

  it('logs what it is that takes long', () => {
    const { lines, report, clock } = setUp(false);
    for (const done of [1, 2, 3, 4, 5]) {
      report({ phase: 'applying', done, total: 10 });
      clock.now += 900;
    }
    expect(lines).toMatchObject([{ done: 5, total: 10, msg: 'applying changes' }]);
  });

  it('measures the time of each phase separately', () => {
    const { lines, read, report, clock } = setUp(false);
    read(1000, 0);
    clock.now += 60_000;
    report({ phase: 'applying', done: 1, total: 10 });
    read(1, 60_000);
    expect(lines).toEqual([]);
  });
});
