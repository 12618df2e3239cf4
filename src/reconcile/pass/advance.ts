import { setImmediate } from 'node:timers/promises';
import { inPieces, inTurns } from '../../async/pace.ts';
import { type Kind, keyOf, parseKey } from '../../desired/name.ts';
import { compareProblems, type Problem } from '../../desired/problem.ts';
import type { DesiredState } from '../../desired/state.ts';
import { planning } from '../../plan/plan.ts';
import type { FileOrigin, Step } from '../../plan/step.ts';
import type { ApplyBatch, GivenId } from '../../store/store.ts';
import type { PassDependencies } from './dependencies.ts';
import { refuseEmptied, refuseInvalid, refuseMisplaced } from './guard.ts';
import { followOrigin, type Memory } from './memory.ts';

/** What bringing the store to a revision needs. */
interface AdvanceContext extends PassDependencies {
  desired: DesiredState;
  memory: Memory;
  /** See `ApplyBatch`. */
  rules: string;
}

/** What changed on the way. */
export interface Advance {
  steps: readonly Step[];
  ids: readonly GivenId[];
  /** The revision that was applied before, where the new one does not descend from it. */
  rewrittenFrom: string | null;
}

/** So many steps take a few milliseconds wherever they are gone through. */
const MANY = 500;

const NOTHING: Advance = { steps: [], ids: [], rewrittenFrom: null };

/**
 * Plans what is pending and applies it. Rejects as `refused` when the revision is refused whole. The memory
 * follows the store only after the store has taken the batch.
 */
export async function advanceStore(context: AdvanceContext, revision: string | null): Promise<Advance> {
  const { desired, memory, reader, strict } = context;
  await refuseEmptied(revision, desired, memory.applied, reader);
  await refuseMisplaced(revision, memory.store.applied, desired, reader);
  const plan = await inPieces(planning(memory.pending, desired, memory.applied));
  for (const [key, problems] of plan.problems) {
    if (problems.length === 0) memory.problems.delete(key);
    else memory.problems.set(key, problems);
  }
  if (strict) refuseInvalid(await errorsOf(desired, memory));
  if (revision === null) return NOTHING;
  const origins = await inPieces(movedOrigins(memory, desired, plan.steps));
  const isHere = memory.store.applied?.revision === revision && memory.store.rules === context.rules;
  if (isHere && plan.steps.length === 0 && origins.length === 0) {
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
  // The end of a large transaction has held everybody up; what follows must not add to it.
  if (steps.length >= MANY) await setImmediate();
  memory.store.applied = { revision, at };
  memory.store.rules = rules;
  await inTurns(steps, (step) => memory.applied.applySteps([step]));
  memory.pending.clear();
  await inTurns([...steps, ...origins], (change) => followOrigin(memory, change));
  return { steps, ids, rewrittenFrom: isRewritten ? before : null };
}

async function errorsOf(desired: DesiredState, memory: Memory): Promise<Problem[]> {
  const own = (await inPieces(desired.listingProblems())).filter(({ severity }) => severity === 'error');
  return [...own, ...[...memory.problems.values()].flat()].sort(compareProblems);
}

/** Objects that are the same as before, but come from another file, or from the same one with other bytes. */
function* movedOrigins(
  memory: Memory,
  desired: DesiredState,
  steps: readonly Step[],
): Generator<undefined, ApplyBatch['origins'], undefined> {
  const changing = new Set(steps.map(({ kind, name }) => keyOf(kind, name)));
  const moved: ApplyBatch['origins'][number][] = [];
  for (const key of memory.pending) {
    const { kind, name } = parseKey(key);
    const origin = changing.has(key) ? null : originOf(desired, kind, name);
    if (origin !== null && memory.applied.has(kind, name) && !isSameOrigin(memory.origins.get(key), origin))
      moved.push({ kind, name, origin });
    yield;
  }
  return moved;
}

/** The file of an object that is valid; null for all others. */
function originOf(desired: DesiredState, kind: Kind, name: string): FileOrigin | null {
  const file = desired.object(kind, name);
  return file?.content === undefined ? null : { path: file.path, blob: file.blob };
}

function isSameOrigin(a: FileOrigin | undefined, b: FileOrigin): boolean {
  return a?.path === b.path && a.blob === b.blob;
}
