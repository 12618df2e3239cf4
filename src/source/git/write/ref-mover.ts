import { commands, noObjectLike, objectId, refName } from '../process/commands.ts';
import { type AnswerReader, Conversation } from '../process/conversation.ts';
import { GitFailure } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';

const NEWLINE = 0x0a;
/**
 * Milliseconds that one process may live: git looks at the clock once, and all entries that it writes into the reflog
 * have the time of its first.
 */
const LIFETIME = 1000;

/** Moves refs, by one process of git for those that are moved in quick succession. */
export interface RefMover {
  /** Has git start while there is other work to do, so that a move need not wait for it. */
  prepare(): void;
  /**
   * Moves a ref by compare-and-swap; null as `from` stands for a ref that is not there. Rejects with a GitFailure where
   * it is at another commit, or locked; one without an exit code may have moved it.
   */
  move(ref: string, from: string | null, to: string): Promise<void>;
  close(): Promise<void>;
}

export function openRefMover({ context }: Repository): RefMover {
  const git = new Conversation(context, commands.updateRefs());
  let end: NodeJS.Timeout | undefined;
  let moving = 0;

  /** Who waits for a move has the time that any call of git has. */
  const retire = (): void => {
    if (moving > 0) end?.refresh();
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
    const expected = from === null ? noObjectLike(to) : objectId(from);
    // In one piece: a process whose manager dies has read all of it or none.
    const request = `start\0update ${refName(ref)}\0${objectId(to)}\0${expected}\0commit\0`;
    moving += 1;
    try {
      await git.ask(request, readDone);
    } finally {
      moving -= 1;
    }
  };

  return { prepare, move, close };
}

async function readDone(reader: AnswerReader): Promise<void> {
  const answers = [await reader.until(NEWLINE), await reader.until(NEWLINE)].join(', ');
  if (answers === 'start: ok, commit: ok') return;
  throw new GitFailure(commands.updateRefs(), null, `said "${answers}"`);
}
