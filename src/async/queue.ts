/** Runs tasks one after another, in the order in which they came. A task that fails does not hold up the next. */
export class Queue {
  #tail: Promise<unknown> = Promise.resolve();

  /** Resolves or rejects as the task does, once its turn has come. */
  run<T>(task: () => T | Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    this.#tail = result.catch(() => undefined);
    return result;
  }
}
