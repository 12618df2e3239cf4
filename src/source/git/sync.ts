import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Makes what was renamed, made or removed in a folder outlive a loss of power. */
export function syncFolder(path: string): Promise<void> {
  return sync(path);
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The same for a folder and those above it, up to and with `top`: any of them may be new. */
export async function syncFoldersUpTo(top: string, path: string): Promise<void> {
  for (let folder = path; ; folder = dirname(folder)) {
    await syncFolder(folder);
    if (folder === top || folder === dirname(folder)) return;
  }
}

/** The same for files below `top`, by their paths from there: what they hold, or that they are gone. */
export async function syncFiles(top: string, paths: readonly string[]): Promise<void> {
  const folders = new Set<string>();
  for (const path of paths) {
    await sync(join(top, path)).catch(ignoreMissing);
    for (let folder = dirname(path); !folders.has(folder); folder = dirname(folder)) folders.add(folder);
  }
  for (const folder of folders) await sync(join(top, folder)).catch(ignoreMissing);
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  // A folder goes with its last file; a file can lie behind one that is none.
  if (!['ENOENT', 'ENOTDIR'].includes(error.code ?? '')) throw error;
}
