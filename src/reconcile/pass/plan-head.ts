import { runYielding } from '../../async/pace.ts';
import { compareProblems, type Problem } from '../../desired/problem.ts';
import type { DesiredState } from '../../desired/state.ts';
import type { PassDependencies } from './dependencies.ts';
import { refuseEmptied, refuseInvalid, refuseMisplaced } from './guard.ts';
import type { Memory } from './memory.ts';
import { planningRevision, type ReadRevision, type RevisionPlan } from './plan-revision.ts';

/**
 * Plans the head of the branch for the store of the memory, and keeps in the memory which problems there are. Rejects as
 * `refused` if the revision is refused as a whole.
 */
export async function planHead(
  read: ReadRevision,
  memory: Memory,
  { reader, strict }: Pick<PassDependencies, 'reader' | 'strict'>,
): Promise<RevisionPlan> {
  const { revision, desired } = read;
  await refuseMisplaced(revision, memory.store.applied, desired, reader);
  await refuseEmptied(revision, desired, memory, reader);
  const plan = await runYielding(planningRevision(read, memory));
  for (const [key, problems] of plan.problems) {
    if (problems.length === 0) memory.problems.delete(key);
    else memory.problems.set(key, problems);
  }
  if (strict) refuseInvalid(await errorsOf(desired, memory));
  return plan;
}

async function errorsOf(desired: DesiredState, memory: Memory): Promise<Problem[]> {
  const inFiles = (await runYielding(desired.listingProblems())).filter(
    ({ severity }) => severity === 'error',
  );
  return [...inFiles, ...[...memory.problems.values()].flat()].sort(compareProblems);
}
