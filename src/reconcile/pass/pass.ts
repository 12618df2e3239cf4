import { runYielding } from '../../async/pace.ts';
import { readingRulesId } from '../../desired/app.ts';
import type { Problem } from '../../desired/problem.ts';
import type { DesiredState } from '../../desired/state.ts';
import { type KnownError, kindOf } from '../../errors.ts';
import type { Seeding } from '../../ids/seeding/seed.ts';
import type { Head } from '../../source/source.ts';
import type { PassStore, StoreState } from '../../store/objects/port.ts';
import { type Advance, applyPlan } from './apply-plan.ts';
import type { PassDependencies } from './dependencies.ts';
import { refuseMissing } from './guard.ts';
import { readStateAndHead } from './latest-head.ts';
import { type Memory, storedFiles } from './memory.ts';
import { planHead } from './plan-head.ts';
import type { RevisionPlan } from './plan-revision.ts';
import { createRecall, type Recall } from './recall.ts';
import { createSnapshot, type Reading, type Snapshot } from './snapshot.ts';

/** What a pass did, for log, metrics and status. */
export interface PassReport extends Advance {
  head: Head;
  /** What the last seeding did, if there was one since the last successful pass; otherwise null. */
  seeding: Seeding | null;
  /** Whether another manager has changed the store since the last successful pass. */
  changedElsewhere: boolean;
}

/** How a pass ended. */
export type PassOutcome =
  | { ok: true; report: PassReport }
  /** `head` is the last head that was read; if the error is `refused`, its revision was refused. */
  | { ok: false; error: KnownError; head?: Head | null };

/** Runs the passes of one manager, and keeps what they remember from one to the next. */
export interface PassRunner {
  readonly desired: DesiredState;
  /** See `Snapshot.reading`. */
  reading(): Reading | null;
  /** See `Recall.memory`. */
  memory(): Memory | null;
  /** The head that the last pass read. */
  head(): Head | null;
  /** Every known problem at the revision that was read last. */
  problems(): Promise<Problem[]>;
  /** See `Keeper.addFirstCommit`: called when this process makes the first commit of a branch. */
  addFirstCommit(revision: Promise<string | null>): void;
  /**
   * Seeds the store from what is known on this machine. Origin is not fetched, since devices do not wait for it: what
   * the store has was given to devices before, and a device that has seen a higher id ignores it. The first pass that
   * reaches origin checks again, before anything new is given. Rejects as `unavailable`.
   */
  prepare(): Promise<void>;
  /**
   * Finds the head of the branch, reads what differs, plans and applies it. Level-based: a pass gets nothing from its
   * trigger, and running it again ends in the same state. Rejects as `refused` if the revision is refused as a whole, as
   * `unavailable` if git, origin or the store cannot be used, as `conflict` if other managers claimed first each time.
   *
   * With many managers, the store's sequence is read before the head of the branch, and claimed from. So each claim
   * follows a read of the branch after every earlier claim, and a manager that is behind brings no older revision back.
   */
  run(): Promise<PassReport>;
}

/** How many claims a pass can lose to other managers before that is a failure. */
const MAX_LOST_CLAIMS = 3;

/** What a pass starts from. */
interface Start {
  head: Head;
  /** Of the store, from before the head was read. */
  state: StoreState;
  memory: Memory;
}

export function createPassRunner(dependencies: PassDependencies): PassRunner {
  const { reader, store, follower, keeper, defaults, faults, onProgress } = dependencies;
  const snapshot = createSnapshot(reader, defaults, onProgress);
  const desired = snapshot.state;
  const rules = readingRulesId(defaults);
  const recall = createRecall(store, follower, desired, keeper);
  let lastHead: Head | null = null;
  let lastProblems: Problem[] = [];

  const runOnce = async (): Promise<PassReport> => {
    faults.pass('pass-begins');
    const read = await readStateAndHead(dependencies, recall.memory()?.store ?? null, rules);
    lastHead = read.head;
    const start = await startFrom(read, recall, dependencies);
    try {
      const advanced = await advance(start, { snapshot, recall, rules }, dependencies);
      const changedElsewhere = recall.takeChangedElsewhere();
      return { head: start.head, seeding: keeper.takeSeeding(), changedElsewhere, ...advanced };
    } catch (error) {
      await noteFailure(error, start, recall, dependencies);
      throw error;
    } finally {
      // A pass that failed before it could plan must not make problems look solved.
      if (recall.memory() !== null) lastProblems = [...start.memory.problems.values()].flat();
    }
  };

  return {
    desired,
    reading: snapshot.reading,
    memory: recall.memory,
    head: () => lastHead,
    problems: async () => [...(await runYielding(desired.listingProblems())), ...lastProblems],
    prepare: () => seedFromLocal(dependencies),
    addFirstCommit: keeper.addFirstCommit,
    run: () => retryLostClaims(runOnce),
  };
}

/** Takes the store to what was read, in memory. Throws if there is nothing to start from. */
async function startFrom(
  read: Awaited<ReturnType<typeof readStateAndHead>>,
  recall: Recall,
  { reader, isFolderOnDisk }: PassDependencies,
): Promise<Start> {
  if (!read.ok) throw read.error;
  const { head, state } = read;
  // Before the store is seeded: with a wrong setting, that would be from the history of another fleet.
  await refuseMissing(head.revision, state.applied, reader, isFolderOnDisk);
  return { head, state, memory: await recall.refresh(state, head) };
}

async function noteFailure(
  error: unknown,
  start: Start,
  recall: Recall,
  { store, now }: PassDependencies,
): Promise<void> {
  const kind = kindOf(error);
  // A refusal or a lost claim changed nothing in the store. After any other error it is not known what the store took.
  if (kind !== 'refused' && kind !== 'conflict') recall.forget();
  if (kind === 'refused') await markAttempted(store, start, now());
}

/** What a pass plans with. `rules`: see `ApplyBatch`. */
interface Planning {
  snapshot: Snapshot;
  recall: Recall;
  rules: string;
}

/** Reads the head, plans it and applies the plan. */
async function advance(
  start: Start,
  { snapshot, recall, rules }: Planning,
  dependencies: PassDependencies,
): Promise<Advance> {
  const { head, state } = start;
  const { revision, branch } = head;
  const touched = await snapshot.advance(revision, () => storedFiles(start.memory, rules));
  for (const key of touched) start.memory.pending.add(key);
  const planIt = (): Promise<RevisionPlan> =>
    planHead({ revision, desired: snapshot.state, rules }, start.memory, dependencies);
  let plan = await planIt();
  // Only now: the store does not follow the history of a revision that is refused.
  if (await recall.follow(state, head)) {
    start.memory = await recall.refresh(state, head);
    plan = await planIt();
  }
  return applyPlan(plan, { ...dependencies, memory: start.memory, branch });
}

async function markAttempted(store: PassStore, { head, memory }: Start, at: number): Promise<void> {
  const { revision } = head;
  if (revision === null) return;
  await store.markAttempted(revision, at);
  memory.store.attempted = { revision, at };
}

/** Reads the state before the head, as every call of `seedIfNeeded` requires. */
async function seedFromLocal({ keeper, store, reader }: PassDependencies): Promise<void> {
  const state = await store.state();
  await keeper.seedIfNeeded(await reader.head(), state);
}

/** Losing a claim to another manager is not an error: the pass starts over from the new state. */
async function retryLostClaims(runOnce: () => Promise<PassReport>): Promise<PassReport> {
  for (let lost = 1; lost <= MAX_LOST_CLAIMS; lost += 1) {
    try {
      return await runOnce();
    } catch (error) {
      if (kindOf(error) !== 'conflict') throw error;
    }
  }
  return runOnce();
}
