import { statSync } from 'node:fs';
import { HoldfastError } from '../../errors.ts';

/** Throws `unavailable` when the files that this process has open are not the ones that the next start would find. */
export type CheckFiles = () => void;

/**
 * Checks that the store and its log are still the same files as at this call. Somebody can delete or replace the data
 * folder, or unmount its disk, under a running manager. SQLite would go on in files that have no name any more, and
 * everything that is acknowledged from then on would be lost when the process ends. A check takes a few microseconds.
 */
export function watchFiles(path: string): CheckFiles {
  const files = [path, `${path}-wal`].map((file) => ({ file, opened: identify(file) }));
  return () => {
    for (const { file, opened } of files) if (identify(file) !== opened) throw gone();
  };
}

/** Identifies the file of this name, as opposed to a later one; null when there is none. */
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
    "the store's files were deleted or replaced while the manager was running; restore them, or restart the manager";
  return new HoldfastError('unavailable', message);
}
