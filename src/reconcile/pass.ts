import { type AppDefaults, readingRules } from '../desired/app.ts';
import type { Diagnostic } from '../desired/diagnostic.ts';
import type { DesiredState } from '../desired/state.ts';
import { kindOf } from '../errors.ts';
import type { Head, IdsRecord, Reader } from '../source/source.ts';
import type { Store } from '../store/store.ts';
import { type Advance, advanceStore } from './advance.ts';
import { knownFiles, loadMemory, type Memory } from './memory.ts';
import { type Seeding, seedStore } from './seed.ts';
import { createSnapshot } from './snapshot.ts';

/** What a pass works with. */
export interface PassDependencies {
  reader: Reader;
  record: IdsRecord;
  store: Store;
  defaults: AppDefaults;
  strict: boolean;
  /** Unix milliseconds. */
  now(): number;
}

/** What a pass did, for whoever has to tell people. */
export interface PassReport extends Advance {
  head: Head;
  /** What the first look at a store took over from the past, told with the first pass that succeeds. */
  seeding: Seeding | null;
}

/** One manager's passes, and what they remember from one to the next. */
export interface PassRunner {
  readonly desired: DesiredState;
  /** Null before the store was read, and after it failed in the middle of something. */
  memory(): Memory | null;
  /** The head that the last pass looked at. */
  head(): Head | null;
  /** Every problem that is known, at the revision that was looked at last. */
  problems(): Diagnostic[];
  /** Takes over what the past knows of ids, and reads the store, without looking at what the head wants. */
  prepare(): Promise<void>;
  /**
   * Looks where the branch is, reads what differs, plans and applies it. Level-based: it carries nothing over from
   * whatever caused it, and running it again ends in the same place.
   */
  run(): Promise<PassReport>;
}

export function createPassRunner(dependencies: PassDependencies): PassRunner {
  const { reader, store, now } = dependencies;
  const past = createPast(dependencies);
  const snapshot = createSnapshot(reader, dependencies.defaults);
  const desired = snapshot.state;
  const rules = readingRules(dependencies.defaults);
  let memory: Memory | null = null;
  let head: Head | null = null;
  let lastProblems: Diagnostic[] = [];

  /** What devices saw in the past comes first: it can make what is stored outdated. */
  const remember = async (seen: Head): Promise<Memory> => {
    if (memory !== null) return memory;
    await past.takeOver(seen.revision);
    const loaded = await loadMemory(store);
    for (const key of desired.keys()) loaded.pending.add(key);
    memory = loaded;
    return loaded;
  };

  const runOn = async (known: Memory, revision: string | null): Promise<Advance> => {
    const touched = await snapshot.advance(revision, () => knownFiles(known, rules));
    for (const key of touched) known.pending.add(key);
    return advanceStore({ ...dependencies, desired, memory: known, rules }, revision);
  };

  /** A refusal touched nothing. After anything else it is not known what the store took: read it again. */
  const failed = async (error: unknown, revision: string | null): Promise<void> => {
    if (kindOf(error) !== 'stalled') memory = null;
    else if (revision !== null) await store.markAttempted(revision, now());
  };

  const run = async (): Promise<PassReport> => {
    const seen = await reader.head();
    head = seen;
    const known = await remember(seen);
    try {
      const advance = await runOn(known, seen.revision);
      return { head: seen, seeding: past.tell(), ...advance };
    } catch (error) {
      await failed(error, seen.revision);
      throw error;
    } finally {
      // A pass that failed before it could plan must not make problems look solved.
      if (memory !== null) lastProblems = [...known.problems.values()].flat();
    }
  };

  return {
    desired,
    memory: () => memory,
    head: () => head,
    problems: () => [...desired.problems(), ...lastProblems],
    prepare: async () => void (await remember(await reader.head())),
    run,
  };
}

/** Seeds the store once in the life of a process, and tells of it once. */
function createPast({ store, reader, record, now }: PassDependencies) {
  let isTaken = false;
  let untold: Seeding | null = null;
  return {
    takeOver: async (head: string | null): Promise<void> => {
      if (isTaken) return;
      untold = await seedStore({ store, reader, record, head, now: now() });
      isTaken = true;
    },
    tell: (): Seeding | null => {
      const seeding = untold;
      untold = null;
      return seeding;
    },
  };
}
