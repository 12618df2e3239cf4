import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createProgressLog } from '../../../src/service/observability/progress.ts';

/** A progress log with a clock that is set by hand. */
function setUp(hasTerminal: boolean) {
  const lines: Record<string, unknown>[] = [];
  const drawn: string[] = [];
  const clock = { now: 5000 };
  const tell = createProgressLog({
    logger: pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) }),
    draw: hasTerminal ? (text) => drawn.push(text) : null,
    elapsed: () => clock.now,
  });
  const read = (done: number, after: number): void => {
    clock.now += after;
    tell({ phase: 'reading', done, total: 1000 });
  };
  return { lines, drawn, read, tell, clock };
}

describe('progress', () => {
  it('of a short work is told to nobody', () => {
    const { lines, drawn, read } = setUp(true);
    read(500, 0);
    read(1000, 90);
    expect({ lines, drawn }).toEqual({ lines: [], drawn: [] });
  });

  it('of a long work is logged every few seconds', () => {
    const { lines, read } = setUp(false);
    for (let done = 100; done <= 1000; done += 100) read(done, 700);
    expect(lines).toMatchObject([{ done: 600, total: 1000, msg: 'reading files' }]);
  });

  it('is drawn on a terminal, and taken away at the end', () => {
    const { drawn, read } = setUp(true);
    for (const done of [0, 500, 1000]) read(done, 200);
    expect(drawn).toEqual([`reading files [${'#'.repeat(15)}${'.'.repeat(15)}] 50 % of 1000`, '']);
  });

  it('begins anew with another work', () => {
    const { lines, read, tell, clock } = setUp(false);
    read(1000, 0);
    clock.now += 60_000;
    tell({ phase: 'applying', done: 1, total: 10 });
    read(1, 60_000);
    expect(lines).toEqual([]);
  });
});
