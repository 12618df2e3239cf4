import { statSync } from 'node:fs';
import { HoldfastError } from '../../errors.ts';

/** Throws `unavailable` where what this process has open is not what the next start would find. */
export type CheckPlace = () => void;

/**
 * Looks whether the store and its log are still the files that they were at this call. Somebody can delete a data
 * folder, put another one in its place or take its disk away under a running manager. SQLite would go on in files
 * without a name, and all that is answered from then on would be lost when the process ends. Costs a few microseconds.
 */
export function watchPlace(path: string): CheckPlace {
  const files = [path, `${path}-wal`].map((file) => ({ file, opened: identify(file) }));
  return () => {
    for (const { file, opened } of files) if (identify(file) !== opened) throw gone();
  };
}

/** What tells a file from all others that could have its name; null where none can be seen. */
function identify(file: string): string | null {
  try {
    const { dev, ino } = statSync(file, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return null;
  }
}

function gone(): HoldfastError {
  const message =
    "the store's files were deleted or replaced while this manager runs; bring them back, or restart the manager";
  return new HoldfastError('unavailable', message);
}
