import type { Pace } from '../../async/pace.ts';
import type { AppBody, AppChange } from '../../protocol/app.ts';
import type { FileEdit } from '../../source/source.ts';
import { absentError, blockedError, presentError } from '../refusals.ts';
import type { AppWrite } from '../write.ts';
import { targetFields, type WriteMode } from './fields.ts';
import { editFile, newFile, removeFiles } from './file-edits.ts';
import { exists, type WriteView } from './view.ts';

/** Resolves to the file edits that carry out a write to an app; none if the files already have its content. */
export async function appEdits(write: AppWrite, view: WriteView, pace: Pace): Promise<FileEdit[]> {
  if (write.op === 'create') return createApp(write.name, write.fields, view);
  if (!exists('app', write.name, view)) throw absentError('app', write.name);
  if (write.op === 'delete') return deleteApp(write.name, view, pace);
  return write.op === 'replace'
    ? replaceApp(write.name, write.fields, view)
    : changeApp(write.name, write.fields, view);
}

function createApp(name: string, fields: AppBody, view: WriteView): FileEdit[] {
  if (view.applied.has('app', name)) throw presentError('app', name);
  if (view.desired.pathsOf('app', name).length > 0) throw blockedBy(name, view);
  return [newAppFile(name, fields, view)];
}

function newAppFile(name: string, fields: AppBody, view: WriteView): FileEdit {
  return newFile('app', name, targetFields({}, fields, view.defaults, 'replace'));
}

function changeApp(name: string, fields: AppChange, view: WriteView): FileEdit[] {
  const file = view.desired.app(name);
  if (file?.content === undefined) throw blockedBy(name, view);
  return editApp(file.path, fields, view, 'change');
}

/**
 * A full update has every field, so it also repairs an invalid file, a name that several files claim, and a missing
 * file.
 */
function replaceApp(name: string, fields: AppBody, view: WriteView): FileEdit[] {
  const [path, ...duplicates] = view.desired.pathsOf('app', name);
  if (path === undefined) return [newAppFile(name, fields, view)];
  return [...editApp(path, fields, view, 'replace'), ...removeFiles(duplicates)];
}

function editApp(path: string, requested: AppChange, view: WriteView, mode: WriteMode): FileEdit[] {
  return editFile(path, view, (fields) => targetFields(fields, requested, view.defaults, mode));
}

/** Removes the app's files, and its name from every group that lists it, in one commit: thousands can. */
async function deleteApp(name: string, view: WriteView, pace: Pace): Promise<FileEdit[]> {
  const groups = new Set([...view.desired.groupsListing(name), ...view.applied.groupsListing(name)]);
  const edits = removeFiles(view.desired.pathsOf('app', name));
  for (const group of groups) {
    edits.push(...removeFromGroup(name, group, view));
    await pace.step();
  }
  return edits;
}

function removeFromGroup(app: string, group: string, view: WriteView): FileEdit[] {
  const file = view.desired.group(group);
  if (file === undefined) return [];
  if (file.content === undefined) throw blockedError(view.desired.problemsOf('device_group', group));
  if (!file.content.apps.includes(app)) return [];
  const apps = file.content.apps.filter((other) => other !== app);
  return editFile(file.path, view, () => ({ apps }));
}

function blockedBy(name: string, { desired }: WriteView): Error {
  const fileIsGone = `the file of app "${name}" is gone, but a device group still lists the app; write all its fields, or delete the app`;
  return blockedError(desired.problemsOf('app', name), fileIsGone);
}
