import type { Pace } from '../../async/pace.ts';
import { compareProblems, type Problem } from '../../desired/problem.ts';
import type { FileChange } from '../../desired/state.ts';
import { type Plan, planning } from '../../plan/plan.ts';
import { portConflictsAt } from '../../plan/port-conflicts.ts';
import type { Step } from '../../plan/step.ts';
import { parseKey } from '../../protocol/name.ts';
import { ALLOW_EMPTY } from '../../reconcile/pass/guard.ts';
import type { CommitDraft } from '../../source/source.ts';
import { blockedError } from '../refusals.ts';
import type { ChangeSet, Write, WriteContext } from '../write.ts';
import { editObjects } from './edit-objects.ts';
import { type EditedFile, EditedFiles } from './edited-files.ts';
import { commitMessage } from './message.ts';
import { problemsAt, type WriteView } from './view.ts';

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
  /** Whether to look also for what people should be warned of. */
  warns?: boolean;
}

/**
 * Drafts the commit for a set of changes: edits the texts of their files, parses the result, and plans what would change.
 * Resolves to null if the files already have the content. Rejects with a HoldfastError (as `Writer.commit` does) if the
 * set cannot be carried out.
 *
 * Lets other work run between objects, as `pace` says: thousands of groups can list an app. The view must be the
 * caller's own: it has the edits while the result is planned, and is unchanged in the end.
 */
export async function draftSet(
  set: ChangeSet,
  context: WriteContext,
  view: WriteView,
  rules: DraftRules,
  pace: Pace,
): Promise<Draft | null> {
  const problemsBefore = rules.strict ? await fleetErrors(view, [], pace) : [];
  const edited = new EditedFiles(view);
  try {
    const touched = await editObjects(set, edited, view, problemsBefore, pace);
    const files = edited.files();
    if (files.length === 0) {
      // The files have the content, but it is not applied, because the head is refused.
      if (problemsBefore.length > 0) throw blockedError(problemsBefore);
      refuseUnappliedTexts(set, view);
      return null;
    }
    const plan = await pace.pieces(planning(touched, view.desired, view.applied));
    refuseProblems(plan, touched, view);
    const problems = rules.strict
      ? await fleetErrors(view, touched, pace)
      : [...plan.problems.values()].flat().sort(compareProblems);
    if (rules.strict) refuseRemaining(set, problemsBefore, problems);
    if (rules.warns) problems.push(...(await portWarnings(plan, view, pace)));
    const trailers = view.desired.isEmpty ? [ALLOW_EMPTY] : [];
    const { steps } = plan;
    const { subject, text: message } = await commitMessage(set, context, steps, trailers, pace);
    const author = { name: context.user, email: context.email };
    const edits = files.map(({ path, after }) => ({ path, text: after }));
    const commit = { edits, message, author, at: rules.at };
    return { commit, subject, files, changes: edited.changes(), steps, touched, problems };
  } finally {
    await edited.restore(pace);
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

/** Refuses texts that the files have already if problems keep them from being applied. */
function refuseUnappliedTexts({ changes }: ChangeSet, view: WriteView): void {
  const texts = changes.filter((write) => write.op === 'file' && write.text !== null);
  const problems = texts.flatMap(({ kind, name }) => problemsAt(kind, name, view));
  if (problems.length > 0) throw blockedError(problems);
}

/** The changes that can repair a file: they do not depend on what it has now. */
const REPAIRS: ReadonlySet<Write['op']> = new Set(['replace', 'delete', 'file']);

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
async function portWarnings({ problems }: Plan, { desired }: WriteView, pace: Pace): Promise<Problem[]> {
  const warnings: Problem[] = [];
  for (const key of problems.keys()) {
    warnings.push(...portConflictsAt(key, desired));
    await pace.step();
  }
  return warnings;
}

/** Returns every problem for which STRICT refuses this state. `touched` has the keys of the edited objects. */
async function fleetErrors(
  { desired, applied, faulty }: WriteView,
  touched: Iterable<string>,
  pace: Pace,
): Promise<Problem[]> {
  const listed = await pace.pieces(desired.listingProblems());
  const inFiles = listed.filter(({ severity }) => severity === 'error');
  const between = (await pace.pieces(planning([...faulty, ...touched], desired, applied))).problems;
  return [...inFiles, ...[...between.values()].flat()].sort(compareProblems);
}
