import { setImmediate } from 'node:timers/promises';
import { keyOf } from '../desired/name.ts';
import { HoldfastError, SHUTTING_DOWN } from '../errors.ts';
import { carryOut } from './carry-out.ts';
import { isAppDelete } from './view.ts';
import type { QueuedWrite, Write, WriteContext, Writer, WriterDependencies, Written } from './write.ts';

/** How many writes share one publish at most. */
const MAX_BATCH = 64;

/** A write that has not begun. */
interface Waiting extends QueuedWrite {
  /** Ends the wait. */
  timer: NodeJS.Timeout;
}

/**
 * One queue for all writes. Writes that wait at the same time are taken as a batch: one commit each, one publish for
 * all of them. A batch begins when the one before it is applied, so each write sees all earlier writes and pushes. A
 * write whose turn does not come within `patience` is refused: its client has often given up by then, and would not
 * learn that it was made.
 */
export function createWriter(dependencies: WriterDependencies): Writer {
  const queue: Waiting[] = [];
  let working: Promise<void> | null = null;
  let isClosed = false;

  const work = async (): Promise<void> => {
    while (queue.length > 0) {
      await waitForMore(queue);
      await carryOut(takeBatch(queue), dependencies);
    }
    working = null;
  };

  const write = <W extends Write>(wanted: W, context: WriteContext): Promise<Written<W>> =>
    new Promise((resolve, reject) => {
      if (isClosed) return reject(shuttingDown());
      const giveUp = (): void => {
        queue.splice(queue.indexOf(waiting), 1);
        reject(tooLate(dependencies.patience));
      };
      const timer = setTimeout(giveUp, dependencies.patience);
      const waiting: Waiting = {
        write: wanted,
        context,
        resolve: resolve as Waiting['resolve'],
        reject,
        timer,
      };
      queue.push(waiting);
      working ??= work();
      return undefined;
    });

  const close = async (): Promise<void> => {
    isClosed = true;
    for (const { reject } of begin(queue, queue.length)) reject(shuttingDown());
    await working;
  };

  return { write, close };
}

function tooLate(patience: number): HoldfastError {
  const message = `other writes were still in progress after ${patience / 1000} seconds, so this one was not started; try again`;
  return new HoldfastError('unavailable', message);
}

function shuttingDown(): HoldfastError {
  return new HoldfastError('unavailable', SHUTTING_DOWN);
}

/**
 * Waits as long as each turn of the event loop brings more writes, because a publish costs about as much as fifty
 * commits. A write that comes alone waits for one turn.
 */
async function waitForMore(queue: readonly QueuedWrite[]): Promise<void> {
  for (let seen = 0; seen < Math.min(queue.length, MAX_BATCH); ) {
    seen = queue.length;
    await setImmediate();
  }
}

/**
 * Takes writes from the front of the queue that may share a publish: each is about another object. The delete of an app
 * goes alone, because it edits the files of groups, too.
 */
function takeBatch(queue: Waiting[]): QueuedWrite[] {
  const keys = new Set<string>();
  for (const { write } of queue) {
    const key = keyOf(write.kind, write.name);
    if (keys.size === MAX_BATCH || keys.has(key)) break;
    if (isAppDelete(write) && keys.size > 0) break;
    keys.add(key);
    if (isAppDelete(write)) break;
  }
  return begin(queue, keys.size);
}

/** Takes so many writes from the front; their wait is over. */
function begin(queue: Waiting[], count: number): QueuedWrite[] {
  const taken = queue.splice(0, count);
  for (const { timer } of taken) clearTimeout(timer);
  return taken;
}
