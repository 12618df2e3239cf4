import { HoldfastError } from '../errors.ts';

/**
 * Runs one thing after the other, in the order of the calls. What has not begun within `patience` milliseconds never
 * begins, and rejects as `unavailable`.
 */
export type Exclusive = <T>(act: () => Promise<T>, patience?: number) => Promise<T>;

export function createExclusive(): Exclusive {
  let last: Promise<unknown> = Promise.resolve();
  return <T>(act: () => Promise<T>, patience?: number): Promise<T> => {
    const entry = createEntry(patience);
    const begin = (): Promise<T> => entry.enter().then(act);
    const turn = last.then(begin, begin);
    last = turn.catch(() => undefined);
    return Promise.race([turn, entry.tooLate]);
  };
}

interface Entry {
  /** Rejects when it is too late. */
  enter(): Promise<void>;
  /** Never resolves. */
  tooLate: Promise<never>;
}

function createEntry(patience: number | undefined): Entry {
  const late = new HoldfastError('unavailable', 'origin is being read for a long time; try again later');
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    if (patience === undefined) return;
    timer = setTimeout(() => {
      isLate = true;
      reject(late);
    }, patience);
  });
  const enter = async (): Promise<void> => {
    clearTimeout(timer);
    if (isLate) throw late;
  };
  return { enter, tooLate };
}
