import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';

/** Bytes of young objects that fit between two collections: what hundreds of polls, or a page of reports, need. */
const YOUNG = 8 * 1024 * 1024;
/** V8 keeps a part of each page for itself, so the space never has all of its bytes for objects. */
const ALMOST = 0.9;
/** Milliseconds between two looks at whether V8 has made the space smaller, as it does in quiet times. */
const LOOK_AGAIN = 60_000;
/** Objects that live on make V8 enlarge the space; 8 MB of them do at the latest, if it may be enlarged at all. */
const MOST_ROUNDS = 300;

/**
 * Tunes the collector for a process that answers many short requests, and works on large passes at times.
 *
 * - The space of young objects has 8 MB. V8 begins with 1 MB, in which what a request needs grows old before the
 *   request is done: a poll takes half a microsecond more. Large passes would make it 16 MB, and it would stay so. With
 *   4 MB a first start collects twice as often.
 * - Old objects are looked at again when there are 80 % more of them, not up to four times as many, since the first
 *   look at 10,000 files makes little else; and once it is done, when there are 30 % more ({@link holdMemoryDown}).
 *
 * With 10,000 apps, polls as fast as one client sends them and five writes a second, this keeps the process at about
 * 146 MB after 40 s. V8's own choice took some 45 MB more, measured before the program was bundled (Node 20.20). A flag
 * that V8 does not know is a line on standard error, and its default holds.
 */
export function tuneCollector(): void {
  setFlagsFromString('--heap-growing-percent=80');
  holdYoungSpace();
  setInterval(holdYoungSpace, LOOK_AGAIN).unref();
}

/**
 * For the time after a start: old objects are looked at more often, so that what a pass leaves behind does not stay for
 * long. During the first look at 10,000 files that would take a twentieth of the time (Node 20.20).
 */
export function holdMemoryDown(): void {
  setFlagsFromString('--heap-growing-percent=30');
}

/** The limit of the space can be given at a start only; while its factor of growth is 1 it does not grow. */
function holdYoungSpace(): void {
  const factor = Math.max(2, Math.round(YOUNG / youngSpace()));
  setFlagsFromString(`--semi-space-growth-factor=${factor}`);
  const living: number[][] = [];
  for (let round = 0; youngSpace() < YOUNG * ALMOST && round < MOST_ROUNDS; round++) {
    for (let count = 0; count < 100; count++) living.push(new Array<number>(32).fill(count));
  }
  setFlagsFromString('--semi-space-growth-factor=1');
}

/** Bytes that young objects have between them. */
function youngSpace(): number {
  const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
  return space === undefined ? Number.POSITIVE_INFINITY : space.space_used_size + space.space_available_size;
}
