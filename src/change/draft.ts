import { compareProblems, type Problem } from '../desired/problem.ts';
import type { FileChange } from '../desired/state.ts';
import { type Plan, planning } from '../plan/plan.ts';
import { portConflictsAt } from '../plan/port-conflicts.ts';
import type { Step } from '../plan/step.ts';
import { parseKey } from '../protocol/name.ts';
import { ALLOW_EMPTY } from '../reconcile/pass/guard.ts';
import type { CommitDraft } from '../source/source.ts';
import { editObjects } from './edit-objects.ts';
import { type EditedFile, EditedFiles } from './edited-files.ts';
import { commitMessage } from './message.ts';
import { blockedError } from './refusals.ts';
import type { WriteView } from './view.ts';
import type { ChangeSet, Write, WriteContext } from './write.ts';

/** A commit to be made, and what it would change. */
export interface Draft {
  commit: CommitDraft;
  /** The first line of its message. */
  subject: string;
  files: EditedFile[];
  /** The changes of the desired state. */
  changes: FileChange[];
  steps: readonly Step[];
  /** Keys of the objects that may differ. */
  touched: ReadonlySet<string>;
  /** Problems of other objects, which do not block this commit, and warnings if they are asked for. */
  problems: Problem[];
}

/** What a draft depends on besides the fleet. */
export interface DraftRules {
  /** Whether a commit with any problem is refused whole. */
  strict: boolean;
  /** Time of the commit, in Unix milliseconds. */
  at: number;
  /** Whether to look for what people should be warned of, too. */
  warns?: boolean;
}

/**
 * Drafts the commit for a set of changes: edits the texts of their files, parses the result, and plans what would change.
 * Returns null if the files already have the content. Throws a HoldfastError (as `Writer.commit` rejects) if the set
 * cannot be carried out.
 *
 * Works in pieces, for callers that let other work run in between: thousands of groups can list an app. The view must be
 * the caller's own: it has the edits while the result is planned, and is unchanged in the end.
 */
export function* drafting(
  set: ChangeSet,
  context: WriteContext,
  view: WriteView,
  rules: DraftRules,
): Generator<undefined, Draft | null, undefined> {
  const problemsBefore = rules.strict ? yield* fleetErrors(view, []) : [];
  const edited = new EditedFiles(view);
  try {
    const touched = yield* editObjects(set, edited, view, problemsBefore);
    const files = edited.files();
    if (files.length === 0) {
      // The files have the content, but it is not applied, because the head is refused.
      if (problemsBefore.length > 0) throw blockedError(problemsBefore);
      return null;
    }
    const plan = yield* planning(touched, view.desired, view.applied);
    refuseProblems(plan, touched, view);
    const problems = rules.strict
      ? yield* fleetErrors(view, touched)
      : [...plan.problems.values()].flat().sort(compareProblems);
    if (rules.strict) refuseRemaining(set, problemsBefore, problems);
    if (rules.warns) problems.push(...(yield* portWarnings(plan, view)));
    const trailers = view.desired.isEmpty ? [ALLOW_EMPTY] : [];
    const { steps } = plan;
    const { subject, text: message } = yield* commitMessage(set, context, steps, trailers);
    const author = { name: context.user, email: context.email };
    const edits = files.map(({ path, after }) => ({ path, text: after }));
    const commit = { edits, message, author, at: rules.at };
    return { commit, subject, files, changes: edited.changes(), steps, touched, problems };
  } finally {
    yield* edited.restoring();
  }
}

/**
 * Refuses an edit that the plan holds back, because the reply would promise content that devices never see. Problems of
 * objects that the edit does not touch, such as a group that lists this app and a missing one, block only those
 * objects.
 */
function refuseProblems(plan: Plan, touched: ReadonlySet<string>, { desired }: WriteView): void {
  const problems = [...touched].flatMap((key) => {
    const { kind, name } = parseKey(key);
    return [...desired.problemsOf(kind, name), ...(plan.problems.get(key) ?? [])];
  });
  if (problems.length > 0) throw blockedError(problems);
}

/** The changes that can repair a file: they do not depend on what it has now. */
const REPAIRS: ReadonlySet<Write['op']> = new Set(['replace', 'delete', 'put']);

/**
 * With STRICT, refuses an edit after which problems remain, because the whole commit would be refused. One exception: a
 * full update or a delete that leaves fewer problems than before. So bad files can be fixed one by one, and the
 * revision is applied once the last one is fixed.
 */
function refuseRemaining(
  { changes }: ChangeSet,
  before: readonly Problem[],
  after: readonly Problem[],
): void {
  const isRepair = changes.every(({ op }) => REPAIRS.has(op)) && after.length < before.length;
  if (after.length > 0 && !isRepair) throw blockedError(after);
}

/** Returns the ports that apps of one group take twice, in the groups that were planned. */
function* portWarnings(
  { problems }: Plan,
  { desired }: WriteView,
): Generator<undefined, Problem[], undefined> {
  const warnings: Problem[] = [];
  for (const key of problems.keys()) {
    warnings.push(...portConflictsAt(key, desired));
    yield;
  }
  return warnings;
}

/** Returns every problem for which STRICT refuses this state. `touched` has the keys of the edited objects. */
function* fleetErrors(
  { desired, applied, faulty }: WriteView,
  touched: Iterable<string>,
): Generator<undefined, Problem[], undefined> {
  const inFiles = (yield* desired.listingProblems()).filter(({ severity }) => severity === 'error');
  const between = (yield* planning([...faulty, ...touched], desired, applied)).problems;
  return [...inFiles, ...[...between.values()].flat()].sort(compareProblems);
}
