import { setImmediate } from 'node:timers/promises';
import { forEachYielding, runYielding } from '../../async/pace.ts';
import { compareProblems, type Problem } from '../../desired/problem.ts';
import type { DesiredState } from '../../desired/state.ts';
import { planning } from '../../plan/plan.ts';
import type { FileOrigin, Step } from '../../plan/step.ts';
import { type Kind, keyOf, parseKey } from '../../protocol/name.ts';
import type { ApplyBatch, AssignedId } from '../../store/store.ts';
import type { PassDependencies } from './dependencies.ts';
import { refuseEmptied, refuseInvalid, refuseMisplaced } from './guard.ts';
import { type Memory, setOrigin } from './memory.ts';

/** What it takes to bring the store to a revision. */
interface AdvanceContext extends PassDependencies {
  desired: DesiredState;
  memory: Memory;
  /** See `ApplyBatch`. */
  rules: string;
}

/** What a pass changed in the store. */
export interface Advance {
  steps: readonly Step[];
  ids: readonly AssignedId[];
  /** Whether no revision was applied before. */
  isFirst: boolean;
  /** The revision that was applied before, if the new one does not descend from it; otherwise null. */
  rewrittenFrom: string | null;
}

/** A loop over this many steps takes a few milliseconds. */
const MANY = 500;

const NOTHING: Advance = { steps: [], ids: [], isFirst: false, rewrittenFrom: null };

/**
 * Plans the pending objects and applies the plan. The memory is updated after the store has taken the batch. Rejects as
 * `refused` if the revision is refused as a whole, as `conflict` if another manager claims a head first.
 */
export async function advanceStore(context: AdvanceContext, revision: string | null): Promise<Advance> {
  const { desired, memory, reader, strict } = context;
  await refuseMisplaced(revision, memory.store.applied, desired, reader);
  await refuseEmptied(revision, desired, memory, reader);
  const plan = await runYielding(planning(memory.pending, desired, memory.applied));
  for (const [key, problems] of plan.problems) {
    if (problems.length === 0) memory.problems.delete(key);
    else memory.problems.set(key, problems);
  }
  if (strict) refuseInvalid(await errorsOf(desired, memory));
  if (revision === null) return NOTHING;
  const origins = await runYielding(changedOrigins(memory, desired, plan.steps));
  const isApplied = memory.store.applied?.revision === revision && memory.store.rules === context.rules;
  if (isApplied && plan.steps.length === 0 && origins.length === 0) {
    memory.pending.clear();
    return NOTHING;
  }
  return applyPlan(context, revision, plan.steps, origins);
}

async function applyPlan(
  { reader, store, memory, rules, now, faults, onProgress }: AdvanceContext,
  revision: string,
  steps: readonly Step[],
  origins: ApplyBatch['origins'],
): Promise<Advance> {
  const before = memory.store.applied?.revision ?? null;
  const isRewritten = before !== null && before !== revision && !(await reader.isAncestor(before, revision));
  const at = now();
  faults.pass('claim-begins');
  const sequence = await store.claimHead(memory.store.sequence, revision, at);
  faults.pass('claim-done');
  memory.store.sequence = sequence;
  memory.store.attempted = { revision, at };
  const onStep = (done: number): void => onProgress({ phase: 'applying', done, total: steps.length });
  const ids = await store.apply({ revision, sequence, at, steps, rules, origins, onStep });
  faults.pass('apply-done');
  // The end of a large transaction has blocked the event loop; what follows must not prolong that.
  if (steps.length >= MANY) await setImmediate();
  memory.store.applied = { revision, at };
  memory.store.rules = rules;
  await forEachYielding(steps, (step) => memory.applied.applySteps([step]));
  memory.pending.clear();
  await forEachYielding([...steps, ...origins], (change) => setOrigin(memory, change));
  return { steps, ids, isFirst: before === null, rewrittenFrom: isRewritten ? before : null };
}

async function errorsOf(desired: DesiredState, memory: Memory): Promise<Problem[]> {
  const inFiles = (await runYielding(desired.listingProblems())).filter(
    ({ severity }) => severity === 'error',
  );
  return [...inFiles, ...[...memory.problems.values()].flat()].sort(compareProblems);
}

/** Finds pending objects whose content stays the same, but whose file has another path or other bytes. */
function* changedOrigins(
  memory: Memory,
  desired: DesiredState,
  steps: readonly Step[],
): Generator<undefined, ApplyBatch['origins'], undefined> {
  const changing = new Set(steps.map(({ kind, name }) => keyOf(kind, name)));
  const changed: ApplyBatch['origins'][number][] = [];
  for (const key of memory.pending) {
    const { kind, name } = parseKey(key);
    const origin = changing.has(key) ? null : originOf(desired, kind, name);
    if (origin !== null && memory.applied.has(kind, name) && !isSameOrigin(memory.origins.get(key), origin))
      changed.push({ kind, name, origin });
    yield;
  }
  return changed;
}

/** Returns the file of an object; null if the object is not valid. */
function originOf(desired: DesiredState, kind: Kind, name: string): FileOrigin | null {
  const file = desired.object(kind, name);
  return file?.content === undefined ? null : { path: file.path, blob: file.blob };
}

function isSameOrigin(a: FileOrigin | undefined, b: FileOrigin): boolean {
  return a?.path === b.path && a.blob === b.blob;
}
