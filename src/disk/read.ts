import { closeSync, open as openCallback, read as readCallback } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

const open = promisify(openCallback);
const read = promisify(readCallback);

/** Bytes; git's files of one line have far fewer. */
const SMALL = 1024;

/**
 * The text of a file that is small as a rule, in UTF-8. As `readFile`, with two turns of a thread instead of four: in a
 * write, which looks at HEAD and its branch seven times, turns took more time than anything else.
 */
export async function readSmallFile(path: string): Promise<string> {
  const file = await open(path, 'r');
  try {
    const { bytesRead, buffer } = await read(file, Buffer.allocUnsafe(SMALL), 0, SMALL, 0);
    if (bytesRead < SMALL) return buffer.toString('utf8', 0, bytesRead);
  } finally {
    // Of a file that was only read, this waits for nothing.
    closeSync(file);
  }
  return readFile(path, 'utf8');
}

/** The same; null where there is no file. */
export async function readIfThere(path: string): Promise<string | null> {
  try {
    return await readSmallFile(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw error;
  }
}
