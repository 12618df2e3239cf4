import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Queue } from '../../async/queue.ts';
import { replaceFile } from '../../disk/replace.ts';
import { messageOf } from '../../errors.ts';
import { emptyMemory, Memory } from '../plan/memory.ts';

/** What a file of the memory had. */
interface MemoryReading {
  /** Empty if there is no file, or none that can be used. */
  memory: Memory;
  /** Why the file was not used, and where it is kept; null if it was, or if there is none. */
  problem: string | null;
}

/** The file in which the worker keeps its memory. */
export interface MemoryFile {
  /** Reads the file. One that is unreadable, torn or of a newer worker is kept aside. Never rejects. */
  read(): Promise<MemoryReading>;
  /**
   * Writes the memory if it differs from the file. Resolves to null, or to why it could not be written: then the next
   * call tries again. Never rejects.
   */
  write(memory: Memory): Promise<string | null>;
}

const FILE = 'worker.json';
/** Begins the name of a file that was kept aside. */
const BAD = `${FILE}.bad-`;

/** `folder` is DATA_DIR; `now` is Unix milliseconds, for the name of a file that is kept aside. */
export function createMemoryFile(folder: string, now: () => number): MemoryFile {
  const path = join(folder, FILE);
  const queue = new Queue();
  let written: string | null = null;

  const read = async (): Promise<MemoryReading> => {
    let problem: string;
    try {
      const text = await readFile(path, 'utf8');
      const parsed = parseMemory(text);
      if (typeof parsed !== 'string') {
        written = text;
        return { memory: parsed, problem: null };
      }
      problem = parsed;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { memory: emptyMemory(), problem: null };
      problem = `cannot be read: ${messageOf(error)}`;
    }
    const kept = await keepAside(folder, now());
    return { memory: emptyMemory(), problem: `${FILE} ${problem}; ${kept}` };
  };

  const write = async (memory: Memory): Promise<string | null> => {
    try {
      const text = `${JSON.stringify(memory)}\n`;
      if (text === written) return null;
      await replaceFile(path, text);
      written = text;
      return null;
    } catch (error) {
      return `${path} cannot be written: ${messageOf(error)}`;
    }
  };

  return { read, write: (memory) => queue.run(() => write(memory)) };
}

/** Returns the memory, or what is wrong with the text. */
function parseMemory(text: string): Memory | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'is not whole';
  }
  const parsed = Memory.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = issue?.path.join('.') ?? '';
  if (place === 'format') return 'was written by another version of the worker';
  return `has no valid ${place === '' ? 'content' : place}`;
}

/** Renames the file, so that it can be looked at, and removes those that were kept before. Says what became of it. */
async function keepAside(folder: string, now: number): Promise<string> {
  const name = BAD + new Date(now).toISOString().replaceAll(':', '-');
  try {
    const earlier = (await readdir(folder)).filter((entry) => entry.startsWith(BAD));
    await rename(join(folder, FILE), join(folder, name));
    for (const entry of earlier.filter((one) => one !== name)) await rm(join(folder, entry), { force: true });
    return `it is kept as ${name}`;
  } catch (error) {
    return `it cannot be kept aside: ${messageOf(error)}`;
  }
}
