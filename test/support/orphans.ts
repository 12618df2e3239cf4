import { readdir, readlink } from 'node:fs/promises';
import { expect } from 'vitest';

/** Processes that work in these folders; none but on Linux. */
async function workersIn(folders: readonly string[]): Promise<number[]> {
  const ids = (await readdir('/proc').catch(() => [])).map(Number).filter(Number.isInteger);
  const places = await Promise.all(ids.map(async (id) => ({ id, folder: await folderOf(id) })));
  const isBelow = (folder: string): boolean =>
    folders.some((one) => folder === one || folder.startsWith(`${one}/`));
  return places.filter(({ folder }) => isBelow(folder)).map(({ id }) => id);
}

/** Where a process is; empty for one that has ended, also where nobody has asked for its code. */
function folderOf(id: number): Promise<string> {
  return readlink(`/proc/${id}/cwd`).catch(() => '');
}

/**
 * A push is a group of processes of its own, which outlives a manager that is killed: what it brings can arrive when the next one has
 * begun. To be called between the two; what it resolves to resolves when all that was at work then is over.
 */
export async function orphanedProcesses(...folders: string[]): Promise<() => Promise<void>> {
  const left = await workersIn(folders);
  const remaining = async (): Promise<number[]> => {
    const working = await workersIn(folders);
    return left.filter((id) => working.includes(id));
  };
  return () => expect.poll(remaining).toEqual([]);
}
