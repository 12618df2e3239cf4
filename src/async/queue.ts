/** Runs tasks one after another, in the order in which they came. A task that fails does not hold up the next. */
export class Queue {
  #tail: Promise<unknown> = Promise.resolve();

  /** Resolves or rejects as the task does, once its turn has come. */
  run<T>(task: () => T | Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    this.#tail = result.catch(() => undefined);
    return result;
  }

  /** `run` for a task that must begin within `patience` milliseconds; after that this rejects with `tooLate()`. */
  runWithin<T>(patience: number, tooLate: () => Error, task: () => Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    let isLate = false;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        isLate = true;
        reject(tooLate());
      }, patience);
    });
    const turn = this.run(() => {
      clearTimeout(timer);
      return isLate ? late : task();
    });
    return Promise.race([turn, late]);
  }
}
