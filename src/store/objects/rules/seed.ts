import { Pace } from '../../../async/pace.ts';
import type { CounterSeed, SeedBatch } from '../../../ids/id-store.ts';
import type { Kind } from '../../../protocol/name.ts';
import type { AppliedRow, StoredCounter } from '../../fleet.ts';
import type { WorkingSet } from './working-set.ts';

/** Implements `IdStore.seedCounters`. Yields to other work between seeds. */
export async function seedCounters(work: WorkingSet, batch: SeedBatch): Promise<void> {
  const { seeds, idSequence, defaultFloor = 0, from } = batch;
  const changed = work.nextIdSequence(idSequence);
  const pace = new Pace();
  let hasDropped = false;
  for (const seed of seeds) {
    if (seed.kind === 'prune') seedPrune(work, seed, changed);
    else if (seedObject(work, seed, seed.kind, changed) === 'dropped') hasDropped = true;
    await pace.step();
  }
  work.set({
    allChanged: changed,
    seededFrom: from,
    defaultFloor: Math.max(work.state.defaultFloor, defaultFloor),
    ...(hasDropped && { applied: null, rules: null }),
  });
}

function seedPrune(work: WorkingSet, seed: CounterSeed, changed: number): void {
  work.putCounter('prune', seed.name, merged(work.counter('prune', seed.name), seed, null, changed));
}

/** What becomes of the object of a seed. */
type Fate = 'absent' | 'kept' | 'dropped';

function seedObject(work: WorkingSet, seed: CounterSeed, kind: Kind, changed: number): Fate {
  const { name } = seed;
  const current = work.counter(kind, name);
  const fate = fateOf(work.find(kind, name), current, seed);
  if (fate === 'dropped') work.store(kind, name, null);
  const hash = fate === 'kept' ? null : keptHash(current, seed);
  work.putCounter(kind, name, merged(current, seed, hash, changed));
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
function fateOf(object: AppliedRow | undefined, { last: id }: StoredCounter, seed: CounterSeed): Fate {
  if (object === undefined) return 'absent';
  if (id > seed.last || object.stored.hash === seed.hash) return 'kept';
  return id === seed.last && seed.hash === null ? 'kept' : 'dropped';
}

function merged(
  current: StoredCounter,
  seed: CounterSeed,
  hash: string | null,
  changed: number,
): StoredCounter {
  const [last, floor] = [Math.max(current.last, seed.last), Math.max(current.floor, seed.floor)];
  return { last, floor, hash, changed };
}
