import type { GitCommand } from './commands.ts';
import { type GitContext, MAX_OUTPUT, streamGit } from './run.ts';

const NUL = 0;
/** Bytes of memory that each name needs besides its text. */
const OVERHEAD = 64;
/** Bytes; no path is that long. */
const MAX_NAME = 2 ** 20;

/**
 * Resolves to the names that a command prints, each with a NUL at its end. Duplicates are not limited: a walk over
 * years of history prints each name of a large fleet hundreds of times. Rejects as `runGit` does, with an
 * OutputTooLarge if the different names need more than `MAX_OUTPUT` bytes of memory.
 */
export async function listNames(context: GitContext, command: GitCommand): Promise<Set<string>> {
  const names = new Set<string>();
  let size = 0;
  let incomplete: Buffer = Buffer.alloc(0);
  const add = (name: string): void => {
    if (names.has(name)) return;
    names.add(name);
    size += name.length + OVERHEAD;
  };
  await streamGit(context, command, (chunk) => {
    const bytes = incomplete.length === 0 ? chunk : Buffer.concat([incomplete, chunk]);
    let start = 0;
    for (let end = bytes.indexOf(NUL); end >= 0; end = bytes.indexOf(NUL, start)) {
      // Names are decoded one by one: a substring would keep the whole decoded text in memory.
      add(bytes.toString('utf8', start, end));
      start = end + 1;
    }
    incomplete = bytes.subarray(start);
    return size <= MAX_OUTPUT && incomplete.length <= MAX_NAME;
  });
  return names;
}
