import { setImmediate } from 'node:timers/promises';
import { forEachYielding } from '../../async/pace.ts';
import { effectsOf } from '../../plan/effect.ts';
import type { Step } from '../../plan/step.ts';
import type { AssignedId } from '../../store/objects/port.ts';
import type { PassDependencies } from './dependencies.ts';
import { type Memory, setOrigin } from './memory.ts';
import { isApplied, type RevisionPlan } from './plan-revision.ts';

/** What applying a plan works with. */
interface ApplyContext extends PassDependencies {
  memory: Memory;
  /** The branch that is followed. */
  branch: string | null;
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
 * Applies a plan, unless there is nothing to apply, and then brings the memory up to date. Rejects as `conflict` if another
 * manager claims a head first: then the base of the plan is no longer that of the store.
 */
export async function applyPlan(plan: RevisionPlan, context: ApplyContext): Promise<Advance> {
  const { reader, store, memory, branch, now, faults, onProgress } = context;
  const { revision, base: before, steps, origins, held, rules } = plan;
  if (revision === null) return NOTHING;
  if (isApplied(plan, memory)) {
    memory.pending.clear();
    return NOTHING;
  }
  const isRewritten = before !== null && before !== revision && !(await reader.isAncestor(before, revision));
  const at = now();
  faults.pass('claim-begins');
  const sequence = await store.claimHead(memory.store.sequence, revision, at);
  faults.pass('claim-done');
  memory.store.sequence = sequence;
  memory.store.attempted = { revision, at };
  const onStep = (done: number): void => onProgress({ phase: 'applying', done, total: steps.length });
  const effects = effectsOf(steps, memory.applied);
  const batch = { revision, sequence, at, steps, rules, origins, held, branch, effects, onStep };
  const ids = await store.apply(batch);
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
