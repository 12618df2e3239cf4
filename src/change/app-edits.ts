import type { AppBody, AppChange } from '../protocol/app.ts';
import type { FileEdit } from '../source/source.ts';
import { targetFields, type WriteMode } from './fields.ts';
import { type Editing, editFile, newFile, removeFiles } from './file-edits.ts';
import { absentError, blockedError, presentError } from './refusals.ts';
import { exists, type WriteView } from './view.ts';
import type { AppWrite } from './write.ts';

/** Returns the file edits that carry out a write to an app; none if the files already have its content. */
export function* appEdits(write: AppWrite, view: WriteView): Editing {
  if (write.op === 'create') return createApp(write.name, write.fields, view);
  if (!exists('app', write.name, view)) throw absentError('app', write.name);
  if (write.op === 'delete') return yield* deleteApp(write.name, view);
  return write.op === 'replace'
    ? yield* replaceApp(write.name, write.fields, view)
    : yield* changeApp(write.name, write.fields, view);
}

function createApp(name: string, fields: AppBody, view: WriteView): FileEdit[] {
  if (view.applied.has('app', name)) throw presentError('app', name);
  if (view.desired.pathsOf('app', name).length > 0) throw blockedBy(name, view);
  return [newAppFile(name, fields, view)];
}

function newAppFile(name: string, fields: AppBody, view: WriteView): FileEdit {
  return newFile('app', name, targetFields({}, fields, view.defaults, 'replace'));
}

function changeApp(name: string, fields: AppChange, view: WriteView): Editing {
  const file = view.desired.app(name);
  if (file?.content === undefined) throw blockedBy(name, view);
  return editApp(file.path, fields, view, 'change');
}

/**
 * A full update has every field, so it also repairs an invalid file, a name that several files claim, and a missing
 * file.
 */
function* replaceApp(name: string, fields: AppBody, view: WriteView): Editing {
  const [path, ...duplicates] = view.desired.pathsOf('app', name);
  if (path === undefined) return [newAppFile(name, fields, view)];
  return [...(yield* editApp(path, fields, view, 'replace')), ...removeFiles(duplicates)];
}

function editApp(path: string, requested: AppChange, view: WriteView, mode: WriteMode): Editing {
  return editFile(path, view, (fields) => targetFields(fields, requested, view.defaults, mode));
}

/** Removes the app's files, and its name from every group that lists it, in one commit. */
function* deleteApp(name: string, view: WriteView): Editing {
  const groups = new Set([...view.desired.groupsListing(name), ...view.applied.groupsListing(name)]);
  const edits = removeFiles(view.desired.pathsOf('app', name));
  for (const group of groups) edits.push(...(yield* removeFromGroup(name, group, view)));
  return edits;
}

function* removeFromGroup(app: string, group: string, view: WriteView): Editing {
  const file = view.desired.group(group);
  if (file === undefined) return [];
  if (file.content === undefined) throw blockedError(view.desired.problemsOf('device_group', group));
  if (!file.content.apps.includes(app)) return [];
  const apps = file.content.apps.filter((other) => other !== app);
  return yield* editFile(file.path, view, () => ({ apps }));
}

function blockedBy(name: string, { desired }: WriteView): Error {
  const fileIsGone = `the file of app "${name}" is gone, but a device group still lists the app; write all its fields, or delete the app`;
  return blockedError(desired.problemsOf('app', name), fileIsGone);
}
