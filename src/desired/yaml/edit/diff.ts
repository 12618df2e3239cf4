import { type Fields, isMapValue } from '../../values.ts';
import { commonPairs } from './common-pairs.ts';
import type { CollectionPart, Entry } from './layout.ts';
import type { NewEntry } from './render.ts';

/**
 * What happens at one place of a collection, in the order of the text. With both `old` and `next`, the entry is edited
 * where it stands; with `old` alone it is removed; with `next` alone it is added.
 */
export interface Slot {
  old: Entry | undefined;
  next: NewEntry | undefined;
}

/** Pairs the entries of a map with those of `target` by key; new keys come last. */
export function mapSlots(part: CollectionPart, target: Fields): Slot[] {
  const known = new Set<string>();
  const slots: Slot[] = part.entries.map((old) => {
    const key = String(old.key?.value);
    known.add(key);
    return { old, next: Object.hasOwn(target, key) ? { key, value: target[key] } : undefined };
  });
  for (const [key, value] of Object.entries(target)) {
    if (!known.has(key)) slots.push({ old: undefined, next: { key, value } });
  }
  return slots;
}

/**
 * When no old key stays, lets the first new one take the place of the first old one, behind its dash or on its line of a
 * flow map.
 */
export function reuseFirst(slots: Slot[]): Slot[] {
  const added = slots.findIndex(({ old }) => old === undefined);
  const [first, ...rest] = slots;
  if (added < 1 || first === undefined || slots.some(({ old, next }) => old && next)) return slots;
  rest.splice(added - 1, 1);
  return [{ old: first.old, next: slots[added]?.next }, ...rest];
}

/** Pairs the items of a list with those of `target` so that few of them change. */
export function listSlots(part: CollectionPart, target: readonly unknown[]): Slot[] {
  return [...align(part.entries, target, 0)];
}

/** What two items must share to be paired: first the value, then the shape, at last nothing but the order. */
const LEVELS: readonly ((value: unknown) => string)[] = [canonical, shape, () => ''];

function* align(olds: readonly Entry[], news: readonly unknown[], level: number): Generator<Slot> {
  const traitOf = LEVELS[level];
  if (traitOf === undefined || olds.length === 0 || news.length === 0) {
    for (const old of olds) yield { old, next: undefined };
    for (const value of news) yield { old: undefined, next: { key: undefined, value } };
    return;
  }
  // Between two pairs that are equal, as many new items as old ones replace them one for one, whatever their shape.
  const isOneForOne = level > 0 && olds.length === news.length;
  const trait = isOneForOne ? () => '' : traitOf;
  const pairs = commonPairs(
    olds.map(({ value }) => trait(value.value)),
    news.map((value) => trait(value)),
  );
  let [fromOld, fromNew] = [0, 0];
  for (const [old, next] of pairs) {
    yield* align(olds.slice(fromOld, old), news.slice(fromNew, next), level + 1);
    yield { old: olds[old], next: { key: undefined, value: news[next] } };
    [fromOld, fromNew] = [old + 1, next + 1];
  }
  yield* align(olds.slice(fromOld), news.slice(fromNew), level + 1);
}

/** The value as a text that is the same for every order of keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => (isMapValue(item) ? sorted(item) : item));
}

function sorted(map: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The kind of a value and, for a map, its keys. */
function shape(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  return isMapValue(value) ? `map ${Object.keys(value).sort().join(' ')}` : 'scalar';
}
