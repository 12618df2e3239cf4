import { commands, refName } from '../process/commands.ts';
import { type AnswerReader, Conversation } from '../process/conversation.ts';
import { nullIdLike, objectId } from '../process/object-ids.ts';
import { GitFailure } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';

const NEWLINE = 0x0a;
/**
 * Milliseconds that one process may live: git reads the clock once per process, and gives that time to all entries that
 * it writes into reflogs.
 */
const LIFETIME = 1000;

/** Moves refs. Moves in quick succession share one git process. */
export interface RefMover {
  /** Starts git, so that the next move need not wait for it. */
  prepare(): void;
  /**
   * Moves a ref by compare-and-swap; `from` is null for a ref that does not exist. Rejects with a GitFailure if the ref
   * is elsewhere or locked. After a GitFailure without an exit code, the ref may have moved.
   */
  move(ref: string, from: string | null, to: string): Promise<void>;
  close(): Promise<void>;
}

export function openRefMover({ context }: Repository): RefMover {
  const git = new Conversation(context, commands.updateRefs());
  let end: NodeJS.Timeout | undefined;
  let movesRunning = 0;

  /** A move that is running is not cut short. */
  const retire = (): void => {
    if (movesRunning > 0) end?.refresh();
    else void close();
  };
  const close = (): Promise<void> => {
    clearTimeout(end);
    end = undefined;
    return git.close();
  };
  const prepare = (): void => {
    git.start();
    end ??= setTimeout(retire, LIFETIME).unref();
  };
  const move = async (ref: string, from: string | null, to: string): Promise<void> => {
    prepare();
    const expected = from === null ? nullIdLike(to) : objectId(from);
    // In one piece: if the manager dies, git has read all of it or nothing.
    const request = `start\0update ${refName(ref)}\0${objectId(to)}\0${expected}\0commit\0`;
    movesRunning += 1;
    try {
      await git.ask(request, readDone);
    } finally {
      movesRunning -= 1;
    }
  };

  return { prepare, move, close };
}

async function readDone(reader: AnswerReader): Promise<void> {
  const answers = [await reader.until(NEWLINE), await reader.until(NEWLINE)].join(', ');
  if (answers === 'start: ok, commit: ok') return;
  throw new GitFailure(commands.updateRefs(), null, `said "${answers}"`);
}
