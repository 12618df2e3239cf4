import { classifyPath } from '../desired/file.ts';
import { parseObjectText } from '../desired/parse.ts';
import { compareProblems, type Problem } from '../desired/problem.ts';
import type { FileChange, StateFile } from '../desired/state.ts';
import { MAX_FILE_BYTES } from '../desired/yaml/document.ts';
import { HoldfastError } from '../errors.ts';
import { subjectLine, summarizeStep } from '../plan/describe.ts';
import { type Plan, planning } from '../plan/plan.ts';
import { keyOf, parseKey } from '../protocol/name.ts';
import { ALLOW_EMPTY } from '../reconcile/pass/guard.ts';
import type { CommitDraft, FileEdit } from '../source/source.ts';
import { appEdits } from './app-edits.ts';
import { deviceGroupEdits } from './device-group-edits.ts';
import { blockedError, fileTooLarge } from './refusals.ts';
import { exists, problemsAt, type WriteView } from './view.ts';
import type { Write, WriteContext } from './write.ts';

/** A commit to be made, and its changes of the desired state. */
export interface Draft {
  commit: CommitDraft;
  changes: FileChange[];
}

/** What a draft depends on besides the fleet. */
export interface DraftRules {
  /** Whether a commit with any problem is refused whole. */
  strict: boolean;
  /** Time of the commit, in Unix milliseconds. */
  at: number;
}

/**
 * Drafts the commit for a write: edits the texts of its files, parses the result, and plans what would change. Returns
 * null if the files already have the content. Throws a HoldfastError (kinds as in `Writer.write`) if the write cannot
 * be carried out.
 *
 * Works in pieces, for callers that let other work run in between: thousands of groups can list an app. The view must be
 * the caller's own: it has the edits while the result is planned, and is unchanged in the end.
 */
export function* drafting(
  write: Write,
  context: WriteContext,
  view: WriteView,
  rules: DraftRules,
): Generator<undefined, Draft | null, undefined> {
  const problemsBefore = rules.strict ? yield* fleetErrors(view, []) : [];
  if (problemsBefore.length > 0) refuseUnappliedFile(write, problemsBefore, view);
  const edits = yield* write.kind === 'app' ? appEdits(write, view) : deviceGroupEdits(write, view);
  if (edits.length === 0) {
    // The files have the content, but it is not applied, because the head is refused.
    if (problemsBefore.length > 0) throw blockedError(problemsBefore);
    if (write.op === 'delete') refuseRetained(write, view);
    return null;
  }
  const before = edits.map(({ path }) => ({ path, file: view.desired.file(path) ?? null }));
  try {
    const { changes, touched } = yield* applyEdits(edits, view);
    // Its file may be gone already.
    touched.add(keyOf(write.kind, write.name));
    const plan = yield* planning(touched, view.desired, view.applied);
    refuseProblems(plan, touched, view);
    if (rules.strict) refuseRemaining(write, problemsBefore, yield* fleetErrors(view, touched));
    const trailers = view.desired.isEmpty ? [ALLOW_EMPTY] : [];
    const message = yield* commitMessage(write, context, plan, trailers);
    const author = { name: context.user, email: context.email };
    return { commit: { edits, message, author, at: rules.at }, changes };
  } finally {
    for (const change of before) {
      view.desired.apply([change]);
      yield;
    }
  }
}

/**
 * Parses the edited texts and applies them to the desired state of the view. `touched`: keys of objects that may
 * differ.
 */
function* applyEdits(edits: readonly FileEdit[], view: WriteView) {
  const changes: FileChange[] = [];
  const touched = new Set<string>();
  for (const edit of edits) {
    const change = changeOf(edit, view);
    changes.push(change);
    for (const key of view.desired.apply([change])) touched.add(key);
    yield;
  }
  return { changes, touched };
}

/** Parses an edited text as if it came from a commit. */
function changeOf({ path, text }: FileEdit, { defaults }: WriteView): FileChange {
  if (text === null) return { path, file: null };
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) throw fileTooLarge();
  const role = classifyPath(path);
  if (role.role !== 'object') throw new HoldfastError('internal', 'an edit of a file that is not read');
  const parsed = parseObjectText(role.kind, text, defaults);
  const file: StateFile = { path, blob: '', kind: role.kind, name: role.name, parsed };
  return { path, file };
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

/**
 * With STRICT, refuses an edit after which problems remain, because the whole commit would be refused. One exception: a
 * full update or a delete that leaves fewer problems than before. So bad files can be fixed one by one, and the
 * revision is applied once the last one is fixed.
 */
function refuseRemaining({ op }: Write, before: readonly Problem[], after: readonly Problem[]): void {
  const isRepair = (op === 'replace' || op === 'delete') && after.length < before.length;
  if (after.length > 0 && !isRepair) throw blockedError(after);
}

/**
 * With STRICT, refuses to create an object that has a valid file which is not applied, because the head is refused. The
 * error lists the problems of the head: "already exists" would be wrong, since the object is not applied.
 */
function refuseUnappliedFile(
  { op, kind, name }: Write,
  problemsBefore: readonly Problem[],
  view: WriteView,
): void {
  if (op !== 'create' || view.applied.has(kind, name) || !exists(kind, name, view)) return;
  if (problemsAt(kind, name, view).length === 0) throw blockedError(problemsBefore);
}

/** Refuses to delete an app that has no file any more, but is retained by a group that is held back. */
function refuseRetained({ kind, name }: Write, view: WriteView): void {
  const problems = problemsAt(kind, name, view);
  if (problems.length > 0) throw blockedError(problems);
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

function* commitMessage(
  write: Write,
  context: WriteContext,
  plan: Plan,
  trailers: readonly string[],
): Generator<undefined, string, undefined> {
  const sentences: string[] = [];
  for (const step of plan.steps) {
    sentences.push(summarizeStep(step));
    yield;
  }
  const ownStep = plan.steps.findIndex(({ kind, name }) => kind === write.kind && name === write.name);
  // The delete of an object that was never applied has no step, nor has an edit that changes nothing for devices.
  const withoutStep = write.op === 'delete' ? 'delete' : 'fix the file';
  const subject = sentences[ownStep] ?? subjectLine(write, [withoutStep]);
  const others = sentences.filter((_, index) => index !== ownStep);
  const paragraphs = [
    subject,
    ...(others.length > 0 ? [others.join('\n')] : []),
    [`Request-Id: ${oneLine(context.requestId)}`, `Api-User: ${oneLine(context.user)}`, ...trailers].join(
      '\n',
    ),
  ];
  return `${paragraphs.join('\n\n')}\n`;
}

/** Keeps text that clients send from adding lines, and thereby trailers, to a commit message. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}
