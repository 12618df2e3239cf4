import { compareDiagnostics, type Diagnostic } from '../desired/diagnostic.ts';
import { classifyPath } from '../desired/file.ts';
import { parseKey } from '../desired/name.ts';
import { parseObjectText } from '../desired/parse.ts';
import type { FileChange, StateFile } from '../desired/state.ts';
import { MAX_FILE_BYTES } from '../desired/yaml/document.ts';
import { HoldfastError } from '../errors.ts';
import { subjectLine, summarizeStep } from '../plan/describe.ts';
import { makePlan, type Plan } from '../plan/plan.ts';
import type { CommitDraft, FileEdit } from '../source/source.ts';
import { appEdits } from './app-edits.ts';
import { deviceGroupEdits } from './device-group-edits.ts';
import { blocked } from './refusals.ts';
import { exists, isApplied, problemsAt, type WriteView } from './view.ts';
import type { Write, WriteContext } from './write.ts';

/** A commit to be made, and the same edits as changes of the desired state. */
export interface Draft {
  commit: CommitDraft;
  changes: FileChange[];
}

/** Rules of the whole fleet that a draft has to pass. */
export interface DraftRules {
  strict: boolean;
  /** The trailer that marks a commit which empties the folder on purpose. */
  allowEmpty: string;
  /** Unix milliseconds. */
  at: number;
}

/**
 * Turns a wish into a commit: edits the texts, reads them back, and plans what would change. Null where the
 * files say it already. Throws a HoldfastError, as `Writer.write` tells, when the wish cannot be fulfilled.
 */
export function draftWrite(
  write: Write,
  context: WriteContext,
  view: WriteView,
  rules: DraftRules,
): Draft | null {
  const before = rules.strict ? fleetErrors(view, []) : [];
  if (before.length > 0) refuseClaimed(write, before, view);
  const edits = write.kind === 'app' ? appEdits(write, view) : deviceGroupEdits(write, view);
  if (edits.length === 0) {
    // What the files say is not what devices are told, at a head that is refused.
    if (before.length > 0) throw blocked(before, '');
    return null;
  }
  const changes = edits.map((edit) => changeOf(edit, view));
  const { desired, applied } = view;
  return desired.preview(changes, (touched) => {
    const plan = makePlan(touched, desired, applied);
    refuseProblems(plan, touched, view);
    if (rules.strict) refuseRest(write, before, fleetErrors(view, touched));
    const message = commitMessage(write, context, plan, desired.isEmpty ? [rules.allowEmpty] : []);
    const author = { name: context.user, email: context.email };
    return { commit: { edits, message, author, at: rules.at }, changes };
  });
}

/** Reads an edited text back as if it came from a commit. */
function changeOf({ path, text }: FileEdit, { defaults }: WriteView): FileChange {
  if (text === null) return { path, file: null };
  if (Buffer.byteLength(text) > MAX_FILE_BYTES) {
    throw new HoldfastError('invalid', `the object would need a file of more than ${MAX_FILE_BYTES} bytes`);
  }
  const role = classifyPath(path);
  if (role.role !== 'object') throw new HoldfastError('internal', 'an edit of a file that is not read');
  const parsed = parseObjectText(role.kind, text, defaults);
  const file: StateFile = { path, blob: '', kind: role.kind, name: role.name, parsed };
  return { path, file };
}

/**
 * What the plan could not do with the objects of the edit, the API would promise in vain. What is wrong with others,
 * such as a group that names a missing app beside this one, blocks only them.
 */
function refuseProblems(plan: Plan, touched: ReadonlySet<string>, { desired }: WriteView): void {
  const problems = [...touched].flatMap((key) => {
    const { kind, name } = parseKey(key);
    return [...desired.problemsOf(kind, name), ...(plan.problems.get(key) ?? [])];
  });
  if (problems.length > 0) throw blocked(problems, '');
}

/**
 * STRICT refuses a commit whole for any problem, so one that leaves problems is made only where it mends others: of many
 * bad files each can be mended by a full update or a delete, and the last one lets the revision in.
 */
function refuseRest({ op }: Write, before: readonly Diagnostic[], after: readonly Diagnostic[]): void {
  const isMending = (op === 'replace' || op === 'delete') && after.length < before.length;
  if (after.length > 0 && !isMending) throw blocked(after, '');
}

/** At a head that is refused, a sound file can have the name of an object that nobody was ever told of. */
function refuseClaimed({ op, kind, name }: Write, before: readonly Diagnostic[], view: WriteView): void {
  if (op !== 'create' || isApplied(kind, name, view.applied) || !exists(kind, name, view)) return;
  if (problemsAt(kind, name, view).length === 0) throw blocked(before, '');
}

/** All that STRICT refuses the state for, as it would be with these objects changed. */
function fleetErrors({ desired, applied, faulty }: WriteView, touched: Iterable<string>): Diagnostic[] {
  const own = desired.problems().filter(({ severity }) => severity === 'error');
  const between = makePlan([...faulty, ...touched], desired, applied).problems;
  return [...own, ...[...between.values()].flat()].sort(compareDiagnostics);
}

function commitMessage(write: Write, context: WriteContext, plan: Plan, trailers: readonly string[]): string {
  const sentences = plan.steps.map(summarizeStep);
  const own = plan.steps.findIndex(({ kind, name }) => kind === write.kind && name === write.name);
  // A file that never was applied, or that devices see no difference of, is in no step.
  const otherwise = write.op === 'delete' ? 'delete' : 'mend the file';
  const subject = sentences[own] ?? subjectLine(write, [otherwise]);
  const others = sentences.filter((_, index) => index !== own);
  const paragraphs = [
    subject,
    ...(others.length > 0 ? [others.join('\n')] : []),
    [`Request-Id: ${oneLine(context.requestId)}`, `Api-User: ${oneLine(context.user)}`, ...trailers].join(
      '\n',
    ),
  ];
  return `${paragraphs.join('\n\n')}\n`;
}

/** A trailer is one line; what users send must not add another one. */
function oneLine(text: string): string {
  return text
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, 200);
}
