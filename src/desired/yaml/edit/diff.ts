import { type Fields, isMapValue } from '../../../protocol/values.ts';
import { commonPairs, MAX_CELLS } from './common-pairs.ts';
import type { CollectionPart, Entry } from './layout.ts';
import type { NewEntry } from './render.ts';

/**
 * One step of the change from an old collection to a new one. With both `old` and `next`, the entry stays, and is edited
 * in place; with `old` alone it is removed; with `next` alone it is added. The slots of a collection, in order, have its old
 * entries in their order, and its new entries in theirs.
 */
export interface Slot {
  old: Entry | undefined;
  next: NewEntry | undefined;
  /** For an added item that only moves within its list: the removed item with the same value. */
  movedFrom?: Entry | undefined;
}

/** Pairs the entries of a map with those of `target` by key. New keys come last. */
export function mapSlots(part: CollectionPart, target: Fields): Slot[] {
  const oldKeys = new Set<string>();
  const slots: Slot[] = part.entries.map((old) => {
    const key = String(old.key?.value);
    oldKeys.add(key);
    return { old, next: Object.hasOwn(target, key) ? { key, value: target[key] } : undefined };
  });
  for (const [key, value] of Object.entries(target)) {
    if (!oldKeys.has(key)) slots.push({ old: undefined, next: { key, value } });
  }
  return slots;
}

/**
 * If no old key stays, pairs the first new entry with the first old one, so that it takes its place: behind the dash, or on
 * its line of a flow map.
 */
export function reuseFirst(slots: Slot[]): Slot[] {
  const added = slots.findIndex(({ old }) => old === undefined);
  const [first, ...rest] = slots;
  if (added < 1 || first === undefined || slots.some(({ old, next }) => old && next)) return slots;
  rest.splice(added - 1, 1);
  return [{ old: first.old, next: slots[added]?.next }, ...rest];
}

/** Pairs the items of a list with those of `target` so that few of them change. Finds the items that only move. */
export function listSlots(part: CollectionPart, target: readonly unknown[]): Slot[] {
  const news = target.map((value): NewEntry => ({ key: undefined, value }));
  return [...align(part.entries, news, 0, findMoves(part.entries, news))];
}

/** The items that only move: from each new item to the old item of the same value. */
type Moves = ReadonlyMap<NewEntry, Entry>;

/** Finds equal items among those that a longest common subsequence of the two lists leaves out. */
function findMoves(olds: readonly Entry[], news: readonly NewEntry[]): Moves {
  if (olds.length * news.length > MAX_CELLS) return new Map();
  const pairs = commonPairs(olds.map(canonicalOf), news.map(canonicalOf));
  const [keptOlds, keptNews] = [new Set(pairs.map(([old]) => old)), new Set(pairs.map(([, next]) => next))];
  const unpaired = new Map<string, Entry[]>();
  for (const [index, old] of olds.entries()) {
    if (keptOlds.has(index)) continue;
    const equals = unpaired.get(canonicalOf(old));
    if (equals === undefined) unpaired.set(canonicalOf(old), [old]);
    else equals.push(old);
  }
  return new Map(
    news.flatMap((next, index): [NewEntry, Entry][] => {
      const old = keptNews.has(index) ? undefined : unpaired.get(canonicalOf(next))?.shift();
      return old === undefined ? [] : [[next, old]];
    }),
  );
}

function canonicalOf(item: Entry | NewEntry): string {
  return canonical(contentOf(item));
}

function contentOf(item: Entry | NewEntry): unknown {
  return 'indicatorEnd' in item ? item.value.value : item.value;
}

/** What two items must have in common to be paired: first the value, then the shape, at last only their order. */
const LEVELS: readonly ((value: unknown) => string)[] = [canonical, shape, () => ''];

/**
 * Pairs old and new items in order: at this level where they have its trait in common, and between those pairs at the next
 * level. What remains below the last level is removed or added.
 */
function* align(
  olds: readonly Entry[],
  news: readonly NewEntry[],
  level: number,
  moves: Moves,
): Generator<Slot> {
  const traitOf = LEVELS[level];
  if (traitOf === undefined || olds.length === 0 || news.length === 0) {
    for (const old of olds) yield { old, next: undefined };
    for (const next of news) yield { old: undefined, next, movedFrom: moves.get(next) };
    return;
  }
  // Between two pairs of equal items, as many new items as old ones are paired one for one, whatever their shape.
  const isOneForOne = level > 0 && olds.length === news.length;
  const trait = isOneForOne ? () => '' : traitOf;
  const pairs = commonPairs(
    olds.map((old) => trait(contentOf(old))),
    news.map((next) => trait(contentOf(next))),
  );
  const between = level === 0 ? alignUnmoved : align;
  let [fromOld, fromNew] = [0, 0];
  for (const [old, next] of pairs) {
    yield* between(olds.slice(fromOld, old), news.slice(fromNew, next), level + 1, moves);
    yield { old: olds[old], next: news[next] };
    [fromOld, fromNew] = [old + 1, next + 1];
  }
  yield* between(olds.slice(fromOld), news.slice(fromNew), level + 1, moves);
}

/**
 * `align` without the items that move, each of which is then removed and added at its places: a comment beside an item is
 * about its value, so no other value may take that place.
 */
function* alignUnmoved(
  olds: readonly Entry[],
  news: readonly NewEntry[],
  level: number,
  moves: Moves,
): Generator<Slot> {
  const movedOlds = new Set<Entry | undefined>(moves.values());
  const unmovedOlds = olds.filter((old) => !movedOlds.has(old));
  const unmovedNews = news.filter((next) => !moves.has(next));
  let [oldIndex, newIndex] = [0, 0];
  const movedSlots = function* (): Generator<Slot> {
    for (; movedOlds.has(olds[oldIndex]); oldIndex++) yield { old: olds[oldIndex], next: undefined };
    for (let next = news[newIndex]; next && moves.has(next); next = news[++newIndex])
      yield { old: undefined, next, movedFrom: moves.get(next) };
  };
  for (const slot of align(unmovedOlds, unmovedNews, level, moves)) {
    yield* movedSlots();
    if (slot.old !== undefined) oldIndex++;
    if (slot.next !== undefined) newIndex++;
    yield slot;
  }
  yield* movedSlots();
}

/** The value as JSON, which is the same for any order of keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => (isMapValue(item) ? sorted(item) : item));
}

function sorted(map: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The kind of a value, with its keys if it is a map. */
function shape(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  return isMapValue(value) ? `map ${Object.keys(value).sort().join(' ')}` : 'scalar';
}
