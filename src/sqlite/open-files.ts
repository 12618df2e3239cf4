import { statSync } from 'node:fs';
import { HoldfastError } from '../errors.ts';

/** Throws `unavailable` if the files that this process has open are no longer those at their paths. */
export type CheckFiles = () => void;

/**
 * Returns a check that the store and its log are still the same files as at this call. The data folder can be deleted
 * or replaced, or its disk unmounted, under a running manager. SQLite would continue in the deleted files, and
 * everything that it acknowledges from then on would be lost when the process ends. A check takes a few microseconds.
 */
export function createFileCheck(path: string): CheckFiles {
  const files = [path, `${path}-wal`].map((file) => ({ file, identity: identify(file) }));
  return () => {
    for (const { file, identity } of files) if (identify(file) !== identity) throw filesGone();
  };
}

/** Identifies the file at this path, to distinguish it from a later one; null if there is none. */
function identify(file: string): string | null {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}

function filesGone(): HoldfastError {
  const message =
    "the store's files were deleted or replaced while the manager was running; restore them, or restart the manager";
  return new HoldfastError('unavailable', message);
}
