/** Seconds. */
const SHORTEST_NAP = 0.02;
const LONGEST_NAP = 3600;
const PAUSE_AFTER_FAILURE = 1;

/** Seconds of a clock that never jumps, and a pause that ends early when the signal is aborted. Neither rejects. */
export interface Timer {
  now(): number;
  sleep(seconds: number, signal: AbortSignal): Promise<void>;
}

/** Ends the pause between tasks, since one of them may be due earlier than it was. */
export class Alarm {
  #controller = new AbortController();

  ring(): void {
    this.#controller.abort();
  }

  /** Resolves after so many seconds, or once the alarm rings; at once if it has rung since the last time. */
  async wait(seconds: number, { sleep }: Timer): Promise<void> {
    const { signal } = this.#controller;
    if (!signal.aborted) await sleep(seconds, signal);
    this.#controller = new AbortController();
  }
}

/** Work that is done again and again, never twice at once. */
export interface Task {
  /** When it is due next, in seconds of the timer. */
  dueAt(): number;
  /** After a rejection it is begun again a second later at the earliest, whatever `dueAt` says. */
  work(): Promise<void>;
}

export interface TaskRun {
  tasks: readonly Task[];
  alarm: Alarm;
  timer: Timer;
  /** Ends the run. */
  stopping: AbortSignal;
  /** Is told why a task failed. */
  onFailure(error: unknown): void;
}

/** Begins each task when it is due, until the signal is aborted. Resolves then, to when those that run have ended. */
export async function runTasks(run: TaskRun): Promise<{ ended: Promise<unknown> }> {
  const { alarm, timer, stopping } = run;
  const tasks = run.tasks.map((task) => withPause(task, run));
  const running = new Map<Task, Promise<void>>();
  stopping.addEventListener('abort', () => alarm.ring(), { once: true });
  while (!stopping.aborted) {
    for (const task of tasks) {
      // What is due now is due at the time of this question, which a clock that is read before it has not reached.
      const dueAt = task.dueAt();
      if (running.has(task) || timer.now() < dueAt) continue;
      const ended = task.work().finally(() => {
        running.delete(task);
        alarm.ring();
      });
      running.set(task, ended);
    }
    const idle = tasks.filter((task) => !running.has(task));
    const nap = Math.min(LONGEST_NAP, ...idle.map((task) => task.dueAt() - timer.now()));
    await alarm.wait(Math.max(SHORTEST_NAP, nap), timer);
  }
  return { ended: Promise.all(running.values()) };
}

/** Keeps a task that fails at once, each time, from taking the whole processor. */
function withPause({ dueAt, work }: Task, { timer, onFailure }: TaskRun): Task {
  let notBefore = 0;
  const note = (error: unknown): void => {
    notBefore = timer.now() + PAUSE_AFTER_FAILURE;
    onFailure(error);
  };
  return { dueAt: () => Math.max(notBefore, dueAt()), work: () => work().catch(note) };
}
