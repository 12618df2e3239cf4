import { createLimiter } from '../async/limiter.ts';
import { runYielding } from '../async/pace.ts';
import { loadFile } from '../desired/load.ts';
import { compareProblems, type Problem } from '../desired/problem.ts';
import { HoldfastError } from '../errors.ts';
import { type Effect, effectsOf } from '../plan/effect.ts';
import { planning } from '../plan/plan.ts';
import type { Step } from '../plan/step.ts';
import { changesTo } from '../preview/state-at.ts';
import type { AppDefaults } from '../protocol/app.ts';
import { parseKey } from '../protocol/name.ts';
import type { Reader, Source } from '../source/source.ts';
import type { Reconciler } from './reconciler.ts';

/** What a branch would change if it were merged now. */
export interface BranchPlan {
  /** Full commit ids: of the branch, of the revision that is applied, and of the commit where the two parted. */
  revision: string;
  base: string | null;
  mergeBase: string;
  steps: readonly Step[];
  effects: readonly Effect[];
  problems: readonly Problem[];
}

/** Plans branches of the origin without a checkout. */
export interface BranchPlans {
  /**
   * Resolves to the plan of a branch, a tag, a full or short id, or of a pull request (`pr/12`, `mr/12`). What others have
   * changed since it began is not undone in it; a file that both have changed is as the branch has it. Rejects as
   * `absent` if there is no such revision, as `conflict` if it has no commit in common with the branch that is followed,
   * as `unavailable` if origin cannot be reached, the head is not known yet, or the plan takes too long.
   */
  plan(name: string): Promise<BranchPlan>;
}

/** What the plans depend on. */
export interface BranchPlanDependencies {
  source: Pick<Source, 'reader' | 'origin'>;
  reconciler: Pick<Reconciler, 'passes'>;
  defaults: AppDefaults;
  /** Milliseconds for which one plan may read files. */
  maxTime: number;
}

/** How many plans can wait for their turn. */
const MAX_WAITING = 16;
/** How many plans are kept. */
const MAX_KEPT = 20;

/** Creates the plans of branches, which are made one at a time, and kept until something else is applied. */
export function createBranchPlans(dependencies: BranchPlanDependencies): BranchPlans {
  const limited = createLimiter(1, MAX_WAITING, () => {
    return new HoldfastError('unavailable', 'too many plans are being made; try again');
  });
  const kept = new Map<string, BranchPlan>();
  return {
    plan: (name) =>
      limited(async () => {
        const revision = await resolveAtOrigin(name, dependencies.source);
        const key = `${revision} ${headOf(dependencies)} ${appliedOf(dependencies)}`;
        const plan = kept.get(key) ?? (await makeBranchPlan(revision, dependencies));
        kept.set(key, plan);
        for (const oldest of [...kept.keys()].slice(0, -MAX_KEPT)) kept.delete(oldest);
        return plan;
      }),
  };
}

/** Resolves to a full commit id; asks origin for what is not here, and first for what can have moved there. */
async function resolveAtOrigin(
  name: string,
  { reader, origin }: BranchPlanDependencies['source'],
): Promise<string> {
  const isId = /^[0-9a-f]{4,64}$/.test(name);
  const known = isId || origin === null ? await reader.resolve(name) : null;
  const found = known ?? (await origin?.find(name)) ?? null;
  const revision = found === null ? null : await reader.resolve(found);
  if (revision !== null) return revision;
  const hint = origin === null ? pullRequestHint(name) : null;
  const details = { missing: 'revision' as const, ...(hint === null ? {} : { hint }) };
  throw new HoldfastError('absent', `there is no revision ${name.slice(0, 200)}`, details);
}

/** A clone is people's own: nothing is fetched into it, and it has no pull requests unless somebody fetches them. */
function pullRequestHint(name: string): string | null {
  const [, kind, number] = /^(pr|mr)\/(\d{1,9})$/.exec(name) ?? [];
  if (number === undefined) return null;
  const ref = kind === 'pr' ? `pull/${number}/head` : `merge-requests/${number}/head`;
  return `this manager follows a clone on its own machine, and fetches nothing into it; there, git fetch origin ${ref}:${name} makes it a branch`;
}

function headOf({ reconciler }: BranchPlanDependencies): string {
  const revision = reconciler.passes.reading()?.revision ?? null;
  if (revision !== null) return revision;
  throw new HoldfastError('unavailable', 'no revision of the branch was read yet');
}

function appliedOf({ reconciler }: BranchPlanDependencies): string | null {
  return reconciler.passes.memory()?.store.applied?.revision ?? null;
}

async function makeBranchPlan(revision: string, dependencies: BranchPlanDependencies): Promise<BranchPlan> {
  const { source, reconciler, defaults, maxTime } = dependencies;
  const { reader } = source;
  const end = performance.now() + maxTime;
  const head = headOf(dependencies);
  const base = appliedOf(dependencies);
  // Both change while passes run.
  const desired = reconciler.passes.desired.copy();
  const applied = reconciler.passes.memory()?.applied;
  const mergeBase = await reader.commonAncestor(revision, head);
  if (mergeBase === null || applied === undefined) throw unrelated();
  const [wanted, begun] = await Promise.all([filesAt(revision, reader), filesAt(mergeBase, reader)]);
  const changes = await changesTo(wanted, begun, (entry) => {
    if (performance.now() > end) throw tookTooLong(maxTime);
    return loadFile(entry, reader.blob, defaults);
  });
  const touched = desired.apply(changes);
  const { steps, problems: found } = await runYielding(planning(touched, desired, applied));
  const problems = [...touched].flatMap((key) => {
    const { kind, name } = parseKey(key);
    return [...desired.problemsOf(kind, name), ...(found.get(key) ?? [])];
  });
  const effects = effectsOf(steps, applied);
  return { revision, base, mergeBase, steps, effects, problems: problems.sort(compareProblems) };
}

function tookTooLong(maxTime: number): HoldfastError {
  const message = `the files that the revision changes could not be read within ${maxTime / 1000} seconds; "holdfast plan" makes this plan in a clone`;
  return new HoldfastError('unavailable', message);
}

async function filesAt(revision: string, reader: Reader) {
  const tree = await reader.folderTree(revision);
  return tree === null ? [] : reader.list(tree);
}

function unrelated(): HoldfastError {
  return new HoldfastError(
    'conflict',
    'this revision has no commit in common with the branch that is followed',
  );
}
