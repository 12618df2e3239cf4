import { closeSync, openSync } from 'node:fs';
import { basename, dirname } from 'node:path';

/** Bytes that the system takes for the path of a socket. */
const LONGEST = 107;

/**
 * Returns a path by which a socket can be opened, whatever the length of its own: a long one begins with a descriptor of
 * its folder. Call `close` when the socket is not used any more. Throws the error of the system if there is no folder.
 */
export function shortPath(path: string): { text: string; close(): void } {
  if (Buffer.byteLength(path) <= LONGEST) return { text: path, close: () => undefined };
  const folder = openSync(dirname(path), 'r');
  let isOpen = true;
  return {
    text: `/proc/self/fd/${folder}/${basename(path)}`,
    close: () => {
      if (isOpen) closeSync(folder);
      isOpen = false;
    },
  };
}
