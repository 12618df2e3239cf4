import { closeSync, open as openCallback, read as readCallback } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const open = promisify(openCallback);
const read = promisify(readCallback);

/** Bytes; git's files of one line are far smaller. */
const SMALL = 1024;

/**
 * Reads a UTF-8 file that is usually small, like `readFile`, but with two operations in the thread pool instead of
 * four: a write reads HEAD and its branch seven times, and these operations took more time than anything else in it.
 */
export async function readSmallFile(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await read(file, Buffer.allocUnsafe(SMALL), 0, SMALL, 0);
    if (bytesRead < SMALL) return buffer.toString('utf8', 0, bytesRead);
  } finally {
    // Does not block, because the file was only read.
    closeSync(file);
  }
  return readFile(path, 'utf8');
}

/** Like `readSmallFile`, but resolves to null if there is no file at the path. */
export async function readIfExists(path: string): Promise<string | null> {
  try {
    return await readSmallFile(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
