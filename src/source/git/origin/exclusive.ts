/** Runs one thing after the other, in the order of the calls. */
export type Exclusive = <T>(act: () => Promise<T>) => Promise<T>;

export function createExclusive(): Exclusive {
  let last: Promise<unknown> = Promise.resolve();
  return (act) => {
    const turn = last.then(act, act);
    last = turn.catch(() => undefined);
    return turn;
  };
}
