import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes what was renamed, made or removed in a folder outlive a loss of power. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** The same for a folder and those above it, up to and with `top`: any of them may be new. */
export async function syncFoldersUpTo(top: string, path: string): Promise<void> {
  for (let folder = path; ; folder = dirname(folder)) {
    await syncFolder(folder);
    if (folder === top || folder === dirname(folder)) return;
  }
}
