import { Pace } from '../../async/pace.ts';
import type { CounterSeed, SeedBatch } from '../../ids/id-store.ts';
import type { Kind } from '../../protocol/name.ts';
import type { StoredCounter, Work } from './work.ts';

/** Implements `Store.seedCounters` on a store's `Work`. Yields to other work between seeds. */
export async function seedCounters(work: Work, batch: SeedBatch): Promise<void> {
  const { seeds, idSequence, defaultFloor = 0, from } = batch;
  const changed = work.state.nextIdSequence(idSequence);
  const pace = new Pace();
  let hasDropped = false;
  for (const seed of seeds) {
    if (seed.kind === 'prune') seedPrune(work, seed, changed);
    else if (seedObject(work, seed, seed.kind, changed) === 'dropped') hasDropped = true;
    await pace.step();
  }
  while (work.counters.markSomeChanged(changed)) await pace.step();
  if (hasDropped) work.state.clearApplied();
  work.state.setSeeded(from, defaultFloor);
}

function seedPrune({ counters }: Work, seed: CounterSeed, changed: number): void {
  const counter = merged(counters.get('prune', seed.name), seed);
  counters.put('prune', seed.name, { ...counter, hash: null }, changed);
}

/** What becomes of the object of a seed. */
type Fate = 'absent' | 'kept' | 'dropped';

function seedObject({ objects, counters }: Work, seed: CounterSeed, kind: Kind, changed: number): Fate {
  const { name } = seed;
  const current = counters.get(kind, name);
  const counter = merged(current, seed);
  const stored = objects.find(kind, name);
  const fate = fateOf(stored, seed);
  if (fate === 'dropped') objects.remove(kind, name);
  const hash = fate === 'kept' ? null : keptHash(current, seed);
  counters.put(kind, name, { ...counter, hash }, changed);
  return fate;
}

/** The hash of the higher id; null, which keeps no id, if one id was given to two contents. */
function keptHash(current: StoredCounter, seed: CounterSeed): string | null {
  if (seed.last > current.last) return seed.hash;
  return seed.last === current.last && seed.hash !== current.hash ? null : current.hash;
}

/**
 * A stored object is dropped if its id is below the seed's and their hashes differ (null differs from all), or if the seed
 * gives the same id to another content (null: to a deleted object, so it is kept).
 */
function fateOf(stored: { id: number; hash: string } | undefined, seed: CounterSeed): Fate {
  if (stored === undefined) return 'absent';
  if (stored.id > seed.last || stored.hash === seed.hash) return 'kept';
  return stored.id === seed.last && seed.hash === null ? 'kept' : 'dropped';
}

function merged(current: { last: number; floor: number }, seed: CounterSeed) {
  return { last: Math.max(current.last, seed.last), floor: Math.max(current.floor, seed.floor) };
}
