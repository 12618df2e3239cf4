import { open } from 'node:fs/promises';

/** Makes what was renamed, made or removed in a folder outlive a loss of power. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
