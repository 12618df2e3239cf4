/** Runs tasks one after another, in the order in which they were added. A failed task does not stop the next one. */
export class Queue {
  #tail: Promise<unknown> = Promise.resolve();

  /** Adds a task. Resolves or rejects as the task does. */
  run<T>(task: () => T | Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /**
   * Like `run`, but rejects with `tooLate()`, and never begins the task, if it waits for `waitLimit`
   * milliseconds.
   */
  runWithin<T>(waitLimit: number, tooLate: () => Error, task: () => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    let isLate = false;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        isLate = true;
        reject(tooLate());
      }, waitLimit);
    });
    const turn = this.run(() => {
      clearTimeout(timer);
      return isLate ? late : task();
    });
    return Promise.race([turn, late]);
  }
}
