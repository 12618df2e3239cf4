import { describe, expect, it } from 'vitest';
import { Alarm, runTasks, type Task } from '../../../src/worker/loop/tasks.ts';

/** A task that is due again so many seconds after it has ended, on a clock that only pauses move. */
class Clock {
  seconds = 0;
  pauses = 0;
  readonly failures: unknown[] = [];
  readonly stopping = new AbortController();
  readonly #end: number;

  constructor(end: number) {
    this.#end = end;
  }

  now(): number {
    return this.seconds;
  }

  sleep(seconds: number, signal: AbortSignal): Promise<void> {
    // What has ended by now rings before the pause begins.
    return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      if (signal.aborted) return;
      this.pauses += 1;
      this.seconds += seconds;
      if (this.seconds >= this.#end) this.stopping.abort();
    });
  }

  every(interval: number, begun: number[]): Task {
    let dueAt = interval;
    const work = async (): Promise<void> => {
      begun.push(this.seconds);
      dueAt = this.seconds + interval;
    };
    return { dueAt: () => dueAt, work };
  }

  async run(tasks: readonly Task[], alarm = new Alarm()): Promise<void> {
    const timer = {
      now: () => this.now(),
      sleep: (seconds: number, signal: AbortSignal) => this.sleep(seconds, signal),
    };
    const { ended } = await runTasks({
      tasks,
      alarm,
      timer,
      stopping: this.stopping.signal,
      onFailure: (error) => this.failures.push(error),
    });
    await ended;
  }
}

describe('the tasks of a worker', () => {
  it('wake it only when one of them is due', async () => {
    const clock = new Clock(3600);
    const [looks, polls, reports]: number[][] = [[], [], []];
    await clock.run([
      clock.every(10, looks ?? []),
      clock.every(11, polls ?? []),
      clock.every(300, reports ?? []),
    ]);
    expect([looks, polls, reports].map((begun) => begun?.length)).toEqual([359, 327, 11]);
    expect(clock.pauses).toBeLessThanOrEqual(359 + 327 + 11 + 1);
  });

  it('begin earlier than planned if the alarm rings, and never twice at once', async () => {
    const clock = new Clock(100);
    const alarm = new Alarm();
    let dueAt = Number.POSITIVE_INFINITY;
    const begun: string[] = [];
    let finish: () => void = () => undefined;
    const slow: Task = {
      dueAt: () => 0,
      work: () => {
        begun.push(`slow at ${clock.seconds}`);
        return new Promise((resolve) => {
          finish = resolve;
        });
      },
    };
    const waiting: Task = {
      dueAt: () => dueAt,
      work: async () => {
        begun.push(`waiting at ${clock.seconds}`);
        dueAt = Number.POSITIVE_INFINITY;
        finish();
        clock.stopping.abort();
      },
    };
    dueAt = 5;
    alarm.ring();
    await clock.run([slow, waiting], alarm);
    expect(begun).toEqual(['slow at 0', 'waiting at 5']);
  });

  it('begin a second later at the earliest after one that failed, and hold up no other', async () => {
    const clock = new Clock(60);
    const [broken, looks]: number[][] = [[], []];
    const task: Task = {
      dueAt: () => 0,
      work: () => {
        broken?.push(clock.seconds);
        return Promise.reject(new Error('broken'));
      },
    };
    await clock.run([task, clock.every(10, looks ?? [])]);
    expect(broken).toHaveLength(60);
    expect(clock.failures).toHaveLength(60);
    expect(looks).toHaveLength(5);
  });
});
