import type { GitCommand } from './commands.ts';
import { type GitContext, hearGit, MOST_OUTPUT } from './run.ts';

const NUL = 0;
/** Bytes that a name needs in memory, beside its own. */
const OVERHEAD = 64;
/** Bytes: no path is that long. */
const MOST_OF_ONE = 2 ** 20;

/**
 * The names that a command lists, with a NUL behind each. How often it says one does not count: a walk over years of
 * history says each name of a large fleet hundreds of times. Rejects as `runGit`, with `SaidTooMuch` where the names
 * need more memory than `MOST_OUTPUT` bytes.
 */
export async function listNames(context: GitContext, command: GitCommand): Promise<Set<string>> {
  const names = new Set<string>();
  let size = 0;
  let rest: Buffer = Buffer.alloc(0);
  const take = (name: string): void => {
    if (names.has(name)) return;
    names.add(name);
    size += name.length + OVERHEAD;
  };
  await hearGit(context, command, (piece) => {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let start = 0;
    for (let end = bytes.indexOf(NUL); end >= 0; end = bytes.indexOf(NUL, start)) {
      // Each is decoded alone: a part of a long text would keep all of that in memory.
      take(bytes.toString('utf8', start, end));
      start = end + 1;
    }
    rest = bytes.subarray(start);
    return size <= MOST_OUTPUT && rest.length <= MOST_OF_ONE;
  });
  return names;
}
