import type { BlobContent } from '../../../desired/entry.ts';
import { commands, objectId } from '../process/commands.ts';
import { type AnswerReader, Conversation, wasEnded } from '../process/conversation.ts';
import type { GitContext } from '../process/run.ts';

const NEWLINE = 0x0a;

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
  /** The bytes of an object; null where it is missing. */
  contents(id: string): Promise<Buffer | null>;
  /** The bytes of a blob, if there are at most `maxBytes`. */
  blob(id: string, maxBytes: number): Promise<BlobContent>;
  close(): Promise<void>;
}

export function openObjects(context: GitContext): ObjectReader {
  const git = new Conversation(context, commands.batchObjects());

  /** Reading twice does no harm. At a stop of the whole group git ends first, and the last record of ids is still to come. */
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

  const contents = (id: string): Promise<Buffer | null> =>
    ask(`contents ${objectId(id)}\n`, async (reader) => {
      const found = parseInfo(await reader.until(NEWLINE));
      return found === null ? null : readBody(reader, found.size);
    });

  const blob = async (id: string, maxBytes: number): Promise<BlobContent> => {
    const found = await info(objectId(id));
    if (found === null || found.type !== 'blob') return { missing: true };
    if (found.size > maxBytes) return { tooLarge: found.size };
    const bytes = await contents(id);
    return bytes === null ? { missing: true } : { bytes };
  };

  return { info, contents, blob, close: () => git.close() };
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
