import { readdir, readlink } from 'node:fs/promises';
import { expect } from 'vitest';

/** The ids of the processes whose working directory is in one of these folders; none if this is not Linux. */
async function workersIn(folders: readonly string[]): Promise<number[]> {
  const ids = (await readdir('/proc').catch(() => [])).map(Number).filter(Number.isInteger);
  const processes = await Promise.all(ids.map(async (id) => ({ id, folder: await folderOf(id) })));
  const isBelow = (folder: string): boolean =>
    folders.some((one) => folder === one || folder.startsWith(`${one}/`));
  return processes.filter(({ folder }) => isBelow(folder)).map(({ id }) => id);
}

/** The working directory of a process; empty if it has ended, even as a zombie. */
function folderOf(id: number): Promise<string> {
  return readlink(`/proc/${id}/cwd`).catch(() => '');
}

/**
 * Finds the processes that a killed manager left in these folders; call it before the next manager starts. Resolves to
 * a function that waits until they have ended. A push has its own process group and outlives a killed manager, so its
 * refs can arrive after the next manager has started.
 */
export async function orphanedProcesses(...folders: string[]): Promise<() => Promise<void>> {
  const left = await workersIn(folders);
  const remaining = async (): Promise<number[]> => {
    const working = await workersIn(folders);
    return left.filter((id) => working.includes(id));
  };
  return () => expect.poll(remaining).toEqual([]);
}
