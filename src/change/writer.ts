import { setImmediate } from 'node:timers/promises';
import { createLimiter } from '../async/limiter.ts';
import { HoldfastError, ShutdownError } from '../errors.ts';
import { keyOf } from '../protocol/name.ts';
import { baseError, boundBase } from './batch/base.ts';
import { carryOut } from './batch/carry-out.ts';
import { objectFile } from './batch/object-file.ts';
import { previewOf } from './batch/preview.ts';
import { isAppDelete } from './draft/view.ts';
import { ownError } from './refusals.ts';
import {
  type ChangeSet,
  keysOf,
  type QueuedWrite,
  type SetResult,
  setOf,
  type Write,
  type WriteContext,
  type WriteResult,
  type Writer,
  type WriterDependencies,
} from './write.ts';

/** How many writes can share one publish; and of how many objects, unless one of them alone has more. */
const MAX_BATCH = 64;

/** How many previews are made at once. */
const MAX_PREVIEWS = 2;
/** How many more can wait. */
const MAX_WAITING = 64;

/** A write that has not begun. */
interface WaitingWrite extends QueuedWrite {
  /** Refuses the write once it has waited too long. */
  timer: NodeJS.Timeout;
}

/** Creates the writer. */
export function createWriter(dependencies: WriterDependencies): Writer {
  const { commit, close } = createQueue(dependencies);
  const limited = createLimiter(MAX_PREVIEWS, MAX_WAITING, tooManyPreviews);
  return {
    commit,
    write: (write, context) => commitOne(commit, write, context),
    preview: (set, context) => limited(() => previewOf({ set, context, warns: true }, dependencies)),
    file: (object) => objectFile(object, dependencies),
    requireUnchanged: async (base, objects) => {
      const keys = objects.map(({ kind, name }) => keyOf(kind, name));
      const error = baseError(await boundBase(base, dependencies), keys);
      if (error !== null) throw error;
    },
    close,
  };
}

/**
 * Creates the queue of all writes. Writes that wait at the same time form a batch: one commit each, one publish for all. A
 * batch begins when the one before it is applied, so each write sees all earlier writes and pushes. A write that is still
 * waiting after `waitLimit` is refused: its client has often given up by then, and would not learn that it was made.
 */
function createQueue(dependencies: WriterDependencies): Pick<Writer, 'commit' | 'close'> {
  const queue: WaitingWrite[] = [];
  let working: Promise<void> | null = null;
  let isClosed = false;

  const work = async (): Promise<void> => {
    while (queue.length > 0) {
      await waitForMore(queue);
      await carryOut(takeBatch(queue), dependencies);
    }
    working = null;
  };

  const commit = (set: ChangeSet, context: WriteContext): Promise<SetResult> =>
    new Promise((resolve, reject) => {
      if (isClosed) return reject(new ShutdownError());
      const giveUp = (): void => {
        queue.splice(queue.indexOf(waiting), 1);
        reject(waitedTooLong(dependencies.waitLimit));
      };
      const timer = setTimeout(giveUp, dependencies.waitLimit);
      const waiting: WaitingWrite = { set, context, resolve, reject, timer };
      queue.push(waiting);
      working ??= work();
      return undefined;
    });

  const close = async (): Promise<void> => {
    isClosed = true;
    for (const { reject } of dequeue(queue, queue.length)) reject(new ShutdownError());
    await working;
  };

  return { commit, close };
}

/** Carries out a set of one change, see `Writer.write`. */
async function commitOne<W extends Write>(
  commit: Writer['commit'],
  write: W,
  context: WriteContext,
): Promise<WriteResult<W>> {
  try {
    const { revision, objects } = await commit(setOf(write), context);
    const object = objects.get(keyOf(write.kind, write.name)) as WriteResult<W>['object'];
    return { revision, object };
  } catch (error) {
    throw ownError(error);
  }
}

function waitedTooLong(waitLimit: number): HoldfastError {
  const message = `other writes were still in progress after ${waitLimit / 1000} seconds, so this one was not started; try again`;
  return new HoldfastError('unavailable', message);
}

function tooManyPreviews(): HoldfastError {
  return new HoldfastError('unavailable', 'too many previews are being made; try again');
}

/**
 * Waits while each turn of the event loop brings more writes, because a publish costs about as much as fifty commits. A
 * single write waits for one turn.
 */
async function waitForMore(queue: readonly QueuedWrite[]): Promise<void> {
  for (let seen = 0; seen < Math.min(queue.length, MAX_BATCH); ) {
    seen = queue.length;
    await setImmediate();
  }
}

/**
 * Takes writes that can share a publish from the front of the queue: each is about different objects. One that deletes an
 * app is always a batch of its own, because it also edits the files of groups.
 */
function takeBatch(queue: WaitingWrite[]): QueuedWrite[] {
  const taken = new Set<string>();
  let count = 0;
  for (const { set } of queue) {
    const keys = keysOf(set);
    const isAlone = set.changes.some(isAppDelete);
    const fits = !isAlone && taken.size + keys.length <= MAX_BATCH && !keys.some((key) => taken.has(key));
    if (count > 0 && !fits) break;
    for (const key of keys) taken.add(key);
    count += 1;
    if (isAlone) break;
  }
  return dequeue(queue, count);
}

/** Takes the first `count` writes from the queue and stops their timers. */
function dequeue(queue: WaitingWrite[], count: number): QueuedWrite[] {
  const taken = queue.splice(0, count);
  for (const { timer } of taken) clearTimeout(timer);
  return taken;
}
