import type { BlobContent } from '../../../desired/entry.ts';
import { HoldfastError } from '../../../errors.ts';
import { commands, objectId } from '../process/commands.ts';
import { type AnswerReader, Conversation, wasEnded } from '../process/conversation.ts';
import type { GitContext } from '../process/run.ts';

const NEWLINE = 0x0a;
/** Bytes of one object: a push of two megabytes can bring a commit whose message has four hundred. */
const MOST_BYTES = 2 ** 26;
/** Bytes that are let go of at a time. */
const PIECE = 2 ** 16;

/** What the object store knows of an object before it is read. `size` in bytes. */
interface ObjectInfo {
  id: string;
  type: string;
  size: number;
}

/** Objects of one repository, read through one long-lived `git cat-file`; one that somebody ends is replaced. */
export interface ObjectReader {
  /** Looks up `<revision>^{commit}`, `<revision>:<path>` and the like; null where there is no such object. */
  info(expression: string): Promise<ObjectInfo | null>;
  /**
   * The bytes of an object; null where it is missing. Rejects as `unavailable` where they are more than anything of
   * ours has.
   */
  contents(id: string): Promise<Buffer | null>;
  /** The bytes of a blob, if there are at most `maxBytes`. */
  blob(id: string, maxBytes: number): Promise<BlobContent>;
  close(): Promise<void>;
}

export function openObjects(context: GitContext): ObjectReader {
  const git = new Conversation(context, commands.batchObjects());

  /**
   * Reading twice does no harm. At a stop of the whole group git ends first, and the last record of ids is still to
   * come.
   */
  const ask = <T>(request: string, answer: (reader: AnswerReader) => Promise<T>): Promise<T> =>
    git.ask(request, answer).catch((error: unknown) => {
      if (wasEnded(error)) return git.ask(request, answer);
      throw error;
    });

  const info = (expression: string): Promise<ObjectInfo | null> => {
    // A line break would be a second request; no object has such a name.
    if (/[\r\n]/.test(expression)) return Promise.resolve(null);
    return ask(`info ${expression}\n`, async (reader) => parseInfo(await reader.until(NEWLINE)));
  };

  const contents = async (id: string): Promise<Buffer | null> => {
    const answer = await ask(`contents ${objectId(id)}\n`, async (reader) => {
      const found = parseInfo(await reader.until(NEWLINE));
      if (found === null || found.size <= MOST_BYTES) return found && readBody(reader, found.size);
      await skipBody(reader, found.size);
      return found;
    });
    if (answer === null || Buffer.isBuffer(answer)) return answer;
    throw tooLarge(answer);
  };

  const blob = async (id: string, maxBytes: number): Promise<BlobContent> => {
    const found = await info(objectId(id));
    if (found === null || found.type !== 'blob') return { missing: true };
    if (found.size > maxBytes) return { tooLarge: found.size };
    const bytes = await contents(id);
    return bytes === null ? { missing: true } : { bytes };
  };

  return { info, contents, blob, close: () => git.close() };
}

/** What was asked for behind it is answered as ever. */
async function skipBody(reader: AnswerReader, size: number): Promise<void> {
  for (let left = size + 1; left > 0; left -= PIECE) await reader.bytes(Math.min(left, PIECE));
}

function tooLarge({ id, type, size }: ObjectInfo): HoldfastError {
  return new HoldfastError('unavailable', `the ${type} ${id} has ${size} bytes, which is too large to read`);
}

/** `<id> SP <type> SP <size>`; anything else ("missing", "ambiguous") names no object. */
function parseInfo(line: string): ObjectInfo | null {
  const match = /^([0-9a-f]{40,64}) (\w+) (\d+)$/.exec(line);
  return match === null ? null : { id: match[1] ?? '', type: match[2] ?? '', size: Number(match[3]) };
}

async function readBody(reader: AnswerReader, size: number): Promise<Buffer> {
  const body = await reader.bytes(size);
  await reader.bytes(1);
  return body;
}
