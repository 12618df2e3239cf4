import { watch as watchNames } from 'node:fs';
import { watch as watchTree } from 'chokidar';
import type { Watcher } from '../../source.ts';
import type { Repository } from './repository.ts';

/**
 * Watches what moves when the branch does: HEAD, the refs and the packed refs. Folders are watched rather than
 * files, since git replaces a file by renaming another one over it.
 */
export async function watchRepository(
  { gitFolder, commonFolder }: Repository,
  onChange: () => void,
): Promise<Watcher> {
  const branches = watchTree(`${commonFolder}/refs/heads`, { ignored: isLock, ignoreInitial: true });
  // Its own events are not enough: of two renames in quick succession it can miss the second for good.
  branches.on('raw', (_event, name) => {
    // Not every system tells a name.
    if (!isLock(String(name))) onChange();
  });
  branches.on('all', () => onChange());
  // A watch that breaks is no reason to stop: the loop also looks again by the clock.
  branches.on('error', () => onChange());
  await new Promise<void>((resolve) => branches.once('ready', resolve));
  const closeHead = watchName(gitFolder, 'HEAD', onChange);
  const closePacked = watchName(commonFolder, 'packed-refs', onChange);
  return {
    close: async () => {
      closeHead();
      closePacked();
      await branches.close();
    },
  };
}

function isLock(path: string): boolean {
  return path.endsWith('.lock');
}

/**
 * Watches one name in a folder where git writes much else; nothing is looked at but names. Returns how to end it. A
 * folder that cannot be watched is looked at by the clock.
 */
function watchName(folder: string, name: string, onChange: () => void): () => void {
  try {
    const watcher = watchNames(folder, (_event, changed) => {
      if (changed === name || changed === null) onChange();
    });
    watcher.on('error', () => onChange());
    return () => watcher.close();
  } catch {
    return () => undefined;
  }
}
