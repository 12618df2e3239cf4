/** Milliseconds from the last change until it is written, and the longest delay after the first change. */
const DELAY = 1000;
const LONGEST_DELAY = 5000;

/** The timer of the next write. */
export interface WriteTimer {
  /** Something has changed. A retry that is due later is waited for. */
  touch(): void;
  /** The last write failed, and is tried again after so many milliseconds. */
  retryAfter(delay: number): void;
  stop(): void;
}

export function createWriteTimer(onEnd: () => void): WriteTimer {
  let timer: NodeJS.Timeout | undefined;
  let longest: NodeJS.Timeout | undefined;
  let isRetry = false;
  const set = (delay: number): NodeJS.Timeout => setTimeout(onEnd, delay).unref();
  const stop = (): void => {
    clearTimeout(timer);
    clearTimeout(longest);
    longest = undefined;
    isRetry = false;
  };
  return {
    stop,
    touch: () => {
      if (isRetry) return;
      clearTimeout(timer);
      timer = set(DELAY);
      longest ??= set(LONGEST_DELAY);
    },
    retryAfter: (delay) => {
      stop();
      isRetry = true;
      timer = set(delay);
    },
  };
}
