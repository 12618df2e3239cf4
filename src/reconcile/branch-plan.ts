import { createLimiter } from '../async/limiter.ts';
import { runYielding } from '../async/pace.ts';
import type { TreeEntry } from '../desired/entry.ts';
import { classifyPath } from '../desired/file.ts';
import { loadFile, type ParsedBlobs } from '../desired/load.ts';
import { compareProblems, fileProblem, type Problem, withFile } from '../desired/problem.ts';
import type { DesiredState } from '../desired/state.ts';
import { HoldfastError } from '../errors.ts';
import type { AppliedState } from '../plan/applied.ts';
import { type Effect, effectsOf } from '../plan/effect.ts';
import { planning } from '../plan/plan.ts';
import type { Step } from '../plan/step.ts';
import { changesTo } from '../preview/state-at.ts';
import type { AppDefaults } from '../protocol/app.ts';
import { keyOf, parseKey } from '../protocol/name.ts';
import type { Source } from '../source/source.ts';
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
   * Resolves to the plan of the merge that git would make of a branch, a tag, a full or short id, or a pull request (`pr/12`,
   * `mr/12`). A conflict is a problem of its file, whose object stays as it is. Rejects as `absent` if there is no such
   * revision, as `conflict` if it has no commit in common with the branch that is followed, as `unavailable` if origin cannot
   * be reached, the head is not known yet, or the plan takes too long.
   */
  plan(name: string): Promise<BranchPlan>;
}

/** What the plans depend on. */
export interface BranchPlanDependencies {
  source: Pick<Source, 'reader' | 'origin' | 'merge'>;
  reconciler: Pick<Reconciler, 'passes' | 'atRest'>;
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
  const { source, reconciler } = dependencies;
  const limited = createLimiter(1, MAX_WAITING, () => {
    return new HoldfastError('unavailable', 'too many plans are being made; try again');
  });
  const kept = new Map<string, BranchPlan>();
  return {
    plan: (name) =>
      limited(async () => {
        const revision = await resolveAtOrigin(name, source);
        const { key, present } = await reconciler.atRest(() => {
          const present = presentOf(reconciler.passes);
          const key = `${revision} ${present.head} ${present.base}`;
          return { key, present: kept.has(key) ? null : copyOf(present) };
        });
        if (present !== null) kept.set(key, await makeBranchPlan(revision, present, dependencies));
        for (const oldest of [...kept.keys()].slice(0, -MAX_KEPT)) kept.delete(oldest);
        return kept.get(key) as BranchPlan;
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

/** What a plan starts from; all of it is of one moment. */
interface Present {
  /** The revision that was read last, and the one that is applied. */
  head: string;
  base: string | null;
  desired: DesiredState;
  applied: AppliedState;
}

function presentOf({ reading, memory, desired }: Reconciler['passes']): Present {
  const head = reading()?.revision ?? null;
  const known = memory();
  if (head === null || known === null)
    throw new HoldfastError('unavailable', 'no revision of the branch was read yet');
  return { head, base: known.store.applied?.revision ?? null, desired, applied: known.applied };
}

function copyOf({ desired, applied, ...revisions }: Present): Present {
  return { ...revisions, desired: desired.copy(), applied: applied.copy() };
}

async function makeBranchPlan(
  revision: string,
  { head, base, desired, applied }: Present,
  { source, defaults, maxTime }: BranchPlanDependencies,
): Promise<BranchPlan> {
  const { reader, merge } = source;
  const end = performance.now() + maxTime;
  const mergeBase = await reader.commonAncestor(revision, head);
  if (mergeBase === null) throw unrelated();
  const begun = (await reader.entriesAt(head)) ?? [];
  const { changes, conflicts } = await merge(head, revision, async ({ files, blob, conflicts }) => {
    const held = new Set(conflicts.map(ownerOf));
    const known: ParsedBlobs = new Map();
    const isFree = ({ path }: TreeEntry): boolean => !held.has(ownerOf(path));
    const changes = await changesTo(files.filter(isFree), begun.filter(isFree), (entry) => {
      if (performance.now() > end) throw tookTooLong(maxTime);
      return loadFile(entry, blob, defaults, known);
    });
    return { changes, conflicts };
  });
  const touched = desired.apply(changes);
  const { steps, problems: found } = await runYielding(planning(touched, desired, applied));
  const inFiles = [...touched].map(parseKey).flatMap(({ kind, name }) => desired.problemsOf(kind, name));
  const inMerge = conflicts.map((path) => withFile(path, CONFLICT));
  // Also those of objects that depend on what changes: a group can list an app that is gone.
  const problems = [...inFiles, ...[...found.values()].flat(), ...inMerge];
  const effects = effectsOf(steps, applied);
  return { revision, base, mergeBase, steps, effects, problems: problems.sort(compareProblems) };
}

const CONFLICT = fileProblem(
  'merge-conflict',
  'git cannot merge it with what the followed branch has changed since this one began; merge that into this one, and resolve the conflict',
);

/** Returns what a conflict holds back: an object with all its files, or one other file. */
function ownerOf(path: string): string {
  const role = classifyPath(path);
  return role.role === 'object' ? keyOf(role.kind, role.name) : path;
}

function tookTooLong(maxTime: number): HoldfastError {
  const message = `the files that the revision changes could not be read within ${maxTime / 1000} seconds; "holdfast plan" makes this plan in a clone`;
  return new HoldfastError('unavailable', message);
}

function unrelated(): HoldfastError {
  return new HoldfastError(
    'conflict',
    'this revision has no commit in common with the branch that is followed',
  );
}
