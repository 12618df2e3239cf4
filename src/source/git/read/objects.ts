import type { BlobContent } from '../../../desired/entry.ts';
import { HoldfastError } from '../../../errors.ts';
import { commands } from '../process/commands.ts';
import { type AnswerReader, Conversation, wasKilledByOthers } from '../process/conversation.ts';
import { objectId } from '../process/object-ids.ts';
import type { GitContext } from '../process/run.ts';

const NEWLINE = 0x0a;
/** The most bytes of an object that is read: a push of two megabytes can bring a commit message of four hundred. */
const MAX_BYTES = 2 ** 26;
/** Bytes that are skipped at a time. */
const SKIPPED_CHUNK = 2 ** 16;

/** The header of an object, which is read without its content. `size` is in bytes. */
interface ObjectInfo {
  id: string;
  type: string;
  size: number;
}

/** Reads objects of one repository through a long-lived `git cat-file`, which is replaced if something ends it. */
export interface ObjectReader {
  /** Looks up `<revision>^{commit}`, `<revision>:<path>` and the like; null if there is no such object. */
  info(expression: string): Promise<ObjectInfo | null>;
  /**
   * Reads the bytes of an object; null if it is missing. Rejects as `unavailable` if it is larger than any that the
   * manager needs.
   */
  contents(id: string): Promise<Buffer | null>;
  /** As `contents`, but only the first `maxBytes` bytes of an object of any size. */
  beginning(id: string, maxBytes: number): Promise<Buffer | null>;
  /** Reads a blob if it has at most `maxBytes`. */
  blob(id: string, maxBytes: number): Promise<BlobContent>;
  close(): Promise<void>;
}

export function openObjects(context: GitContext): ObjectReader {
  const git = new Conversation(context, commands.batchObjects());

  /**
   * Repeats a request if something killed git; reading twice does no harm. When the whole process group is stopped, git
   * ends first, and the manager still has to write the record of ids.
   */
  const ask = <T>(request: string, readAnswer: (reader: AnswerReader) => Promise<T>): Promise<T> =>
    git.ask(request, readAnswer).catch((error: unknown) => {
      if (wasKilledByOthers(error)) return git.ask(request, readAnswer);
      throw error;
    });

  const info = (expression: string): Promise<ObjectInfo | null> => {
    // A line break would start a second request, and no object has one in its name.
    if (/[\r\n]/.test(expression)) return Promise.resolve(null);
    return ask(`info ${expression}\n`, async (reader) => parseInfo(await reader.until(NEWLINE)));
  };

  const contents = async (id: string): Promise<Buffer | null> => {
    const bytesOrInfo = await ask(`contents ${objectId(id)}\n`, async (reader) => {
      const found = parseInfo(await reader.until(NEWLINE));
      if (found === null || found.size <= MAX_BYTES) return found && readBody(reader, found.size);
      await skipBody(reader, found.size);
      return found;
    });
    if (bytesOrInfo === null || Buffer.isBuffer(bytesOrInfo)) return bytesOrInfo;
    throw tooLarge(bytesOrInfo);
  };

  const beginning = (id: string, maxBytes: number): Promise<Buffer | null> =>
    ask(`contents ${objectId(id)}\n`, async (reader) => {
      const found = parseInfo(await reader.until(NEWLINE));
      if (found === null || found.size <= maxBytes) return found && readBody(reader, found.size);
      const bytes = await reader.bytes(maxBytes);
      await skipBody(reader, found.size - maxBytes);
      return bytes;
    });

  const blob = async (id: string, maxBytes: number): Promise<BlobContent> => {
    const found = await info(objectId(id));
    if (found === null || found.type !== 'blob') return { missing: true };
    if (found.size > maxBytes) return { tooLarge: found.size };
    const bytes = await contents(id);
    return bytes === null ? { missing: true } : { bytes };
  };

  return { info, contents, beginning, blob, close: () => git.close() };
}

/** Drops an object and the line break after it, so that the next answer can be read. */
async function skipBody(reader: AnswerReader, size: number): Promise<void> {
  for (let left = size + 1; left > 0; left -= SKIPPED_CHUNK) {
    await reader.bytes(Math.min(left, SKIPPED_CHUNK));
  }
}

function tooLarge({ id, type, size }: ObjectInfo): HoldfastError {
  return new HoldfastError('unavailable', `the ${type} ${id} has ${size} bytes, which is too large to read`);
}

/** Parses `<id> SP <type> SP <size>`; any other line ("missing", "ambiguous") means that there is no such object. */
function parseInfo(line: string): ObjectInfo | null {
  const match = /^([0-9a-f]{40,64}) (\w+) (\d+)$/.exec(line);
  return match === null ? null : { id: match[1] ?? '', type: match[2] ?? '', size: Number(match[3]) };
}

async function readBody(reader: AnswerReader, size: number): Promise<Buffer> {
  const body = await reader.bytes(size);
  await reader.bytes(1);
  return body;
}
