import { inPieces } from '../../async/pace.ts';
import { readingRules } from '../../desired/app.ts';
import type { Problem } from '../../desired/problem.ts';
import type { DesiredState } from '../../desired/state.ts';
import { type ErrorKind, type HoldfastError, kindOf } from '../../errors.ts';
import type { Head, Reader } from '../../source/source.ts';
import type { PassStore } from '../../store/store.ts';
import { createPast, type Past } from '../past/past.ts';
import type { Seeding } from '../past/seed.ts';
import { type Advance, advanceStore } from './advance.ts';
import type { PassDependencies } from './dependencies.ts';
import { refuseMissing } from './guard.ts';
import { lookAtBoth } from './latest-head.ts';
import { knownFiles, type Memory } from './memory.ts';
import { createRecall } from './recall.ts';
import { createSnapshot, type Reading } from './snapshot.ts';

/** What a pass did, for log, metrics and status. */
export interface PassReport extends Advance {
  head: Head;
  /** What was taken over from the past; reported once, with the first pass that succeeds after it. */
  seeding: Seeding | null;
  /** Keys of objects that another manager may have changed since the last successful pass. */
  changedElsewhere: string[];
}

/** How a pass ended, for those who do not run it themselves. */
export type PassOutcome =
  | { ok: true; report: PassReport }
  /** `head` is what a pass that refused the revision (`refused`) had looked at. */
  | { ok: false; error: HoldfastError; head?: Head | null };

/** One manager's passes, and what they remember from one to the next. */
export interface PassRunner {
  readonly desired: DesiredState;
  /** See `Snapshot.reading`. */
  reading(): Reading | null;
  /** Null before the store was read, and after it failed in the middle of something. */
  memory(): Memory | null;
  /** The head that the last pass looked at. */
  head(): Head | null;
  /** Every problem that is known, at the revision that was looked at last. */
  problems(): Promise<Problem[]>;
  /** Says that a commit is made here on a branch without one; resolves to null where none is. */
  began(revision: Promise<string | null>): void;
  /**
   * Takes over what the past knows of ids, as far as it is known here: origin is not asked, since devices do not wait
   * for it. What the store has was given to devices before, and one that saw a higher id since ignores it; the first
   * pass that reached origin looks again before anything is given.
   */
  prepare(): Promise<void>;
  /**
   * Looks where the branch is, reads what differs, plans and applies it. Level-based: it carries nothing over from
   * whatever caused it, and running it again ends in the same place.
   *
   * With many managers, the store's sequence is read before the head of the branch, and claimed from. So each claim
   * follows a look at the branch after every earlier claim, and a manager that is behind brings no older revision back.
   */
  run(): Promise<PassReport>;
}

/** How often a pass begins again because another manager claimed first, before that is a failure. */
const MAX_LOST = 3;

export function createPassRunner(dependencies: PassDependencies): PassRunner {
  const { reader, store, defaults, now, faults, onProgress } = dependencies;
  const past = createPast(dependencies);
  const { state: desired, reading, advance: bringTo } = createSnapshot(reader, defaults, onProgress);
  const rules = readingRules(defaults);
  const { recall, memory, forget, takeChangedElsewhere } = createRecall(store, desired, past);
  let head: Head | null = null;
  let lastProblems: Problem[] = [];

  const look = async () => {
    const looks = await lookAtBoth(dependencies, memory()?.store ?? null, rules);
    head = looks.head;
    if (!looks.ok) throw looks.error;
    // Before anything is taken over from a past that is not this fleet's.
    await refuseMissing(looks.head.revision, looks.state.applied, reader, dependencies.isFolderMade);
    return { seen: looks.head, known: await recall(looks.state, looks.head) };
  };

  const runOn = async (known: Memory, revision: string | null): Promise<Advance> => {
    const touched = await bringTo(revision, () => knownFiles(known, rules));
    for (const key of touched) known.pending.add(key);
    return advanceStore({ ...dependencies, desired, memory: known, rules }, revision);
  };

  const afterFailure = async (kind: ErrorKind, known: Memory, revision: string | null): Promise<void> => {
    // A refusal touched nothing, and neither did a claim that was lost. After anything else it is not known what the
    // store took.
    if (kind !== 'refused' && kind !== 'conflict') return forget();
    if (kind === 'conflict' || revision === null) return;
    known.store.attempted = await markAttempted(store, revision, now());
  };

  const runOnce = async (): Promise<PassReport> => {
    faults.pass('pass-begins');
    const { seen, known } = await look();
    try {
      const advance = await runOn(known, seen.revision);
      return { head: seen, seeding: past.tell(), changedElsewhere: takeChangedElsewhere(), ...advance };
    } catch (error) {
      await afterFailure(kindOf(error), known, seen.revision);
      throw error;
    } finally {
      // A pass that failed before it could plan must not make problems look solved.
      if (memory() !== null) lastProblems = [...known.problems.values()].flat();
    }
  };

  return {
    desired,
    reading,
    memory,
    head: () => head,
    problems: async () => [...(await inPieces(desired.listingProblems())), ...lastProblems],
    prepare: () => takeOverPast(past, store, reader),
    began: past.began,
    run: () => untilClaimed(runOnce),
  };
}

/** The state is read before the head, as for every call of `takeOver`. */
async function takeOverPast(past: Past, store: PassStore, reader: Reader): Promise<void> {
  const state = await store.state();
  await past.takeOver(await reader.head(), state);
}

async function markAttempted(store: PassStore, revision: string, at: number) {
  await store.markAttempted(revision, at);
  return { revision, at };
}

/** A claim that another manager has won is no error: the pass begins again, on what that one did. */
async function untilClaimed(runOnce: () => Promise<PassReport>): Promise<PassReport> {
  for (let lost = 1; lost <= MAX_LOST; lost += 1) {
    try {
      return await runOnce();
    } catch (error) {
      if (kindOf(error) !== 'conflict') throw error;
    }
  }
  return runOnce();
}
