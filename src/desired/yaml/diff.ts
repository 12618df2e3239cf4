import { isMapValue } from '../values.ts';
import { commonPairs } from './common-pairs.ts';
import type { CollectionPart, Entry } from './layout.ts';
import type { Wanted } from './render.ts';

/**
 * One place of a collection in the order of the text: `old` and `next` is an entry to edit where it stands, `old`
 * alone one to remove, `next` alone one to add.
 */
export interface Slot {
  old: Entry | undefined;
  next: Wanted | undefined;
}

/** A map's pairs beside those of `target`; new ones come last. */
export function mapSlots(part: CollectionPart, target: Readonly<Record<string, unknown>>): Slot[] {
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

/** When no pair stays, the first new one takes the place of the first old one instead of following it. */
export function reuseFirst(slots: Slot[]): Slot[] {
  const added = slots.findIndex(({ old }) => old === undefined);
  const [first, ...rest] = slots;
  if (added < 1 || first === undefined || slots.some(({ old, next }) => old && next)) return slots;
  rest.splice(added - 1, 1);
  return [{ old: first.old, next: slots[added]?.next }, ...rest];
}

/** A list's items beside those of `target`, with as few differences as possible. */
export function listSlots(part: CollectionPart, target: readonly unknown[]): Slot[] {
  return [...align(part.entries, target, 0)];
}

/** What makes two items partners: first being the same, then looking alike, then nothing but their place. */
const LIKENESS: readonly ((value: unknown) => string)[] = [canonical, shape, () => ''];

function* align(olds: readonly Entry[], news: readonly unknown[], level: number): Generator<Slot> {
  const likeness = LIKENESS[level];
  if (likeness === undefined || olds.length === 0 || news.length === 0) {
    for (const old of olds) yield { old, next: undefined };
    for (const value of news) yield { old: undefined, next: { key: undefined, value } };
    return;
  }
  // As many items as before: each one takes the place of another, however different it is.
  const sign = level > 0 && olds.length === news.length ? () => '' : likeness;
  const pairs = commonPairs(
    olds.map(({ value }) => sign(value.value)),
    news.map((value) => sign(value)),
  );
  let [fromOld, fromNew] = [0, 0];
  for (const [old, next] of pairs) {
    yield* align(olds.slice(fromOld, old), news.slice(fromNew, next), level + 1);
    yield { old: olds[old], next: { key: undefined, value: news[next] } };
    [fromOld, fromNew] = [old + 1, next + 1];
  }
  yield* align(olds.slice(fromOld), news.slice(fromNew), level + 1);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => (isMapValue(item) ? sorted(item) : item));
}

function sorted(map: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function shape(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  return isMapValue(value) ? `map ${Object.keys(value).sort().join(' ')}` : 'scalar';
}
