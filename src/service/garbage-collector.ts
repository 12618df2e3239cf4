import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Size of the young generation in bytes: enough for the garbage of hundreds of polls, or of a page of reports. */
const YOUNG_SIZE = 8 * 1024 * 1024;
/** V8 keeps a part of each page for itself, so the space never has all of its bytes for objects. */
const USABLE_SHARE = 0.9;
/** Milliseconds between two checks of the size of the space, which V8 shrinks while the process is idle. */
const CHECK_INTERVAL = 60_000;
/** Milliseconds within which V8 collects the old generation, if there is any load. */
const COLLECTION_LIMIT = 60_000;
/** Milliseconds between two checks whether it has done so. */
const COLLECTION_CHECK = 250;
/** Milliseconds that a collection takes from its beginning, at most. */
const COLLECTION_TIME = 2_000;
/** Limits the loop that makes V8 grow the space, in case it does not: objects of 8 MB in all must suffice. */
const MAX_ROUNDS = 300;

/**
 * Tunes the garbage collector for a process that answers many short requests and sometimes runs large passes.
 *
 * - The young generation has 8 MB. V8 starts with 1 MB, where the objects of a request are promoted to the old
 *   generation before the request ends, which costs a poll half a microsecond. Large passes would make it grow to 16 MB
 *   and stay there. With 4 MB, a first start collects twice as often.
 * - The old generation is collected when it has grown by 80 %, where V8 would let it grow up to fourfold, because the
 *   first read of 10,000 files creates mostly garbage. After the start, the limit is 15 % ({@link holdMemoryDown}).
 *
 * With 10,000 apps, polls as fast as one client sends them and five writes a second, this keeps the process at about
 * 146 MB after 40 s. V8's defaults took some 45 MB more, measured before the program was bundled (Node 20.20). If V8
 * does not know a flag, it writes a line to standard error and keeps its default.
 */
export function tuneCollector(): void {
  setFlagsFromString('--heap-growing-percent=80');
  holdYoungSpace();
  // More than YOUNG_SIZE if a flag on the command line says so.
  const largest = youngSpace();
  const correct = (): void => correctYoungSpace(largest);
  process.on('worker', (thread) => thread.once('online', correct));
  setInterval(correct, CHECK_INTERVAL).unref();
}

/**
 * Makes V8 collect the old generation more often, so that the garbage of a pass is freed soon. For the time after the
 * start: while 10,000 files are first read, 30 % would cost a twentieth of the time (Node 20.20). Under load, 15 % means
 * a collection every 20 s instead of every 40, each 30 ms in pieces, and 6 MB less in use than 30 %; passes of 10,000
 * files and many writes at once take as long.
 */
export function holdMemoryDown(): void {
  setFlagsFromString('--heap-growing-percent=15');
}

/**
 * Brings the young generation to its size, which is at most `largest` bytes. The heap of a new thread sets V8's growth
 * factor to 2 for all heaps, so that ours can have doubled before the thread is online.
 */
function correctYoungSpace(largest: number): void {
  holdYoungSpace();
  if (youngSpace() > largest) shrinkYoungSpace(largest);
}

/**
 * Lets the next collection of the old generation shrink the young one, which V8 otherwise does only while the process is
 * idle, and then grows it to its size. V8's flag for that also makes collections so frequent that a pass takes twice as
 * much processor time, so it is set for one collection only.
 */
function shrinkYoungSpace(largest: number): void {
  setFlagsFromString('--optimize-for-size');
  const end = performance.now() + COLLECTION_LIMIT;
  const timer = setInterval(() => {
    if (youngSpace() > largest && performance.now() < end) return;
    clearInterval(timer);
    setFlagsFromString('--no-optimize-for-size');
    holdYoungSpace();
    // Another collection, which also shrinks the space, can have begun meanwhile.
    setTimeout(holdYoungSpace, COLLECTION_TIME).unref();
  }, COLLECTION_CHECK).unref();
}

/**
 * Grows the young generation to its size and then forbids further growth. V8 takes a maximum size only on its command
 * line. So this sets the growth factor, keeps objects alive until V8 has grown the space, and sets the factor to 1.
 */
function holdYoungSpace(): void {
  const factor = Math.max(2, Math.round(YOUNG_SIZE / youngSpace()));
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  const living: number[][] = [];
  for (let round = 0; youngSpace() < YOUNG_SIZE * USABLE_SHARE && round < MAX_ROUNDS; round++) {
    for (let count = 0; count < 100; count++) living.push(new Array<number>(32).fill(count));
  }
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Returns how many bytes the young generation has for objects. */
function youngSpace(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
  return space === undefined ? Number.POSITIVE_INFINITY : space.space_used_size + space.space_available_size;
}
