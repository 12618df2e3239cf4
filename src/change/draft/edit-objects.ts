import type { Pace } from '../../async/pace.ts';
import type { Problem } from '../../desired/problem.ts';
import { HoldfastError } from '../../errors.ts';
import { rankOf } from '../../plan/step.ts';
import { type Kind, keyOf } from '../../protocol/name.ts';
import type { FileEdit } from '../../source/source.ts';
import { blockedError, ChangesRefused, FileTooLarge } from '../refusals.ts';
import { type ChangeSet, type FileWrite, isRemoval, keysOf, type Write } from '../write.ts';
import { appEdits } from './app-edits.ts';
import { deviceEdits } from './device-edits.ts';
import { deviceGroupEdits } from './device-group-edits.ts';
import type { EditedFiles } from './edited-files.ts';
import { fileEdit } from './file-edits.ts';
import { exists, isAppDelete, problemsAt, type WriteView } from './view.ts';

/**
 * Edits the files of a set, each change on the result of those before it. Resolves to the keys of its objects and of all that
 * may differ. `problemsBefore` are those for which STRICT refuses the head. Rejects with ChangesRefused, with the error of every
 * change that cannot be carried out.
 */
export async function editObjects(
  set: ChangeSet,
  files: EditedFiles,
  view: WriteView,
  problemsBefore: readonly Problem[],
  pace: Pace,
): Promise<Set<string>> {
  const own = new Set(keysOf(set));
  const touched = new Set(own);
  const errors = new Map<number, HoldfastError>();
  for (const [index, write] of inOrder(set.changes)) {
    try {
      refuseStillListed(write, own, view);
      for (const edit of await editsOf(write, view, problemsBefore, pace)) {
        for (const key of files.apply(edit)) touched.add(key);
        await pace.step();
      }
      for (const key of namingWithoutFile(write, view)) touched.add(key);
    } catch (error) {
      noteError(error, index, errors, set);
    }
  }
  if (errors.size > 0) throw new ChangesRefused(errors);
  return touched;
}

/** Adds the error of a change, unless that only follows from another one. Throws what is no error of a change. */
function noteError(error: unknown, index: number, errors: Map<number, HoldfastError>, set: ChangeSet): void {
  const write = set.changes[index];
  if (!(error instanceof HoldfastError) || write === undefined) throw error;
  if (!followsFrom(error, write, errors, set)) errors.set(index, ownReason(error, write));
}

/** Whether a group or device only lacks what the set would create, if that were not wrong by itself. */
function followsFrom(
  error: HoldfastError,
  write: Write,
  errors: ReadonlyMap<number, unknown>,
  { changes }: ChangeSet,
): boolean {
  const isWrong = (name: string, kind: Kind): boolean =>
    changes.some(
      (change, index) =>
        errors.has(index) && change.op === 'create' && change.kind === kind && change.name === name,
    );
  const { missing, apps } = error.details as HoldfastError<'absent'>['details'];
  if (write.kind === 'device' && missing === 'device_group' && 'fields' in write)
    return isWrong(write.fields.device_group ?? '', missing);
  return apps?.every((app) => isWrong(app, 'app')) === true;
}

function ownReason(error: HoldfastError, write: Write): HoldfastError {
  return error instanceof FileTooLarge ? error.of(write) : error;
}

/** Returns the changes and their indexes in the order of steps, so that a group can list an app that the set creates. */
function inOrder(changes: readonly Write[]): [index: number, write: Write][] {
  const rank = (write: Write): number => rankOf(write.kind, isRemoval(write));
  return [...changes.entries()].sort(([, a], [, b]) => rank(a) - rank(b));
}

async function editsOf(
  write: Write,
  view: WriteView,
  problemsBefore: readonly Problem[],
  pace: Pace,
): Promise<FileEdit[]> {
  if (write.op === 'file') return fileEdit(write, view);
  refuseUnappliedFile(write, problemsBefore, view);
  const edits = await objectEdits(write, view, pace);
  if (edits.length === 0 && problemsBefore.length === 0) refuseRetained(write, view);
  return edits;
}

function objectEdits(
  write: Exclude<Write, FileWrite>,
  view: WriteView,
  pace: Pace,
): FileEdit[] | Promise<FileEdit[]> {
  if (write.kind === 'app') return appEdits(write, view, pace);
  return write.kind === 'device' ? deviceEdits(write, view) : deviceGroupEdits(write, view);
}

/** Returns the keys of what names an object whose last file a change has removed: groups and devices keep it. */
function namingWithoutFile(write: Write, { desired }: WriteView): readonly string[] {
  const { kind, name, op } = write;
  if (op !== 'file' || !isRemoval(write) || desired.object(kind, name) !== undefined) return [];
  if (kind === 'app') return Array.from(desired.groupsListing(name), (group) => keyOf('device_group', group));
  return kind === 'device_group'
    ? Array.from(desired.devicesIn(name), (device) => keyOf('device', device))
    : [];
}

/** Refuses to delete an app that a group lists because of the same set; any other group loses it. */
function refuseStillListed(write: Write, own: ReadonlySet<string>, { desired }: WriteView): void {
  if (!isAppDelete(write) || own.size < 2) return;
  for (const group of desired.groupsListing(write.name)) {
    if (!own.has(keyOf('device_group', group))) continue;
    const message = `device group "${group}" is to list app "${write.name}", which is to be deleted; leave one of them out`;
    throw new HoldfastError('invalid', message);
  }
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
  if (problemsBefore.length === 0 || op !== 'create') return;
  if (view.applied.has(kind, name) || !exists(kind, name, view)) return;
  if (problemsAt(kind, name, view).length === 0) throw blockedError(problemsBefore);
}

/** Refuses to delete an app that has no file any more, but is retained by a group that is held back. */
function refuseRetained({ kind, name, op }: Write, view: WriteView): void {
  const problems = op === 'delete' ? problemsAt(kind, name, view) : [];
  if (problems.length > 0) throw blockedError(problems);
}
