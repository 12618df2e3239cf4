import type { AppChange, AppFields } from '../desired/app.ts';
import { newFilePath } from '../desired/file.ts';
import { renderYaml } from '../desired/yaml/edit.ts';
import type { FileEdit } from '../source/source.ts';
import { targetFields } from './fields.ts';
import { absent, blocked, present } from './refusals.ts';
import { rewrite } from './rewrite.ts';
import { exists, isApplied, type WriteView } from './view.ts';
import type { AppWrite } from './write.ts';

/** The edits of files that fulfil a wish about an app; none where the files say it already. */
export function appEdits(write: AppWrite, view: WriteView): FileEdit[] {
  if (write.op === 'create') return createApp(write.name, write.fields, view);
  if (!exists('app', write.name, view)) throw absent('app', write.name);
  if (write.op === 'delete') return deleteApp(write.name, view);
  return write.op === 'replace'
    ? replaceApp(write.name, write.fields, view)
    : changeApp(write.name, write.fields, view);
}

function createApp(name: string, fields: AppFields, view: WriteView): FileEdit[] {
  if (isApplied('app', name, view.applied) || view.desired.app(name)?.content !== undefined) {
    throw present('app', name);
  }
  if (view.desired.pathsOf('app', name).length > 0) throw blockedBy(name, view);
  return [newApp(name, fields, view)];
}

function newApp(name: string, fields: AppFields, view: WriteView): FileEdit {
  const text = renderYaml(targetFields({}, fields, view.defaults, true));
  return { path: newFilePath('app', name), text };
}

function changeApp(name: string, fields: AppChange, view: WriteView): FileEdit[] {
  const file = view.desired.app(name);
  if (file?.content === undefined) throw blockedBy(name, view);
  return editApp(file.path, fields, view, false);
}

/** Also mends what no partial update can: an invalid file, a name that two files claim, a file that is gone. */
function replaceApp(name: string, fields: AppFields, view: WriteView): FileEdit[] {
  const [path, ...twins] = view.desired.pathsOf('app', name);
  if (path === undefined) return [newApp(name, fields, view)];
  const removals = twins.map((twin): FileEdit => ({ path: twin, text: null }));
  return [...editApp(path, fields, view, true), ...removals];
}

function editApp(path: string, wished: AppChange, view: WriteView, replace: boolean): FileEdit[] {
  const text = view.texts.get(path) ?? '';
  const targetOf = (fields: Readonly<Record<string, unknown>>) =>
    targetFields(fields, wished, view.defaults, replace);
  const edited = rewrite(text, targetOf, view.read);
  return edited === text ? [] : [{ path, text: edited }];
}

/** The app's files go, and its name leaves every group that lists it, in one commit. */
function deleteApp(name: string, view: WriteView): FileEdit[] {
  const files = view.desired.pathsOf('app', name).map((path): FileEdit => ({ path, text: null }));
  const groups = new Set([...view.desired.groupsListing(name), ...view.applied.groupsListing(name)]);
  return [...files, ...[...groups].flatMap((group) => leaveGroup(name, group, view))];
}

function leaveGroup(app: string, group: string, view: WriteView): FileEdit[] {
  const file = view.desired.group(group);
  if (file === undefined) return [];
  if (file.content === undefined)
    throw blocked(view.desired.problemsOf('device_group', group), 'mend the group');
  if (!file.content.apps.includes(app)) return [];
  const apps = file.content.apps.filter((other) => other !== app);
  const text = view.texts.get(file.path) ?? '';
  return [{ path: file.path, text: rewrite(text, () => ({ apps }), view.read) }];
}

function blockedBy(name: string, { desired }: WriteView): Error {
  const gone = `the file of app "${name}" is gone while a device group still lists the app; write all its fields, or delete it`;
  return blocked(desired.problemsOf('app', name), gone);
}
