import type { DeviceGroup } from '../desired/device-group.ts';
import { newFilePath } from '../desired/file.ts';
import { renderYaml } from '../desired/yaml/edit.ts';
import { sameContent } from '../plan/content.ts';
import type { FileEdit } from '../source/source.ts';
import { absent, blocked, present, unknownApps } from './refusals.ts';
import { rewrite } from './rewrite.ts';
import { exists, isApplied, problemsAt, type WriteView } from './view.ts';
import type { DeviceGroupWrite } from './write.ts';

/** The edits of files that fulfil a wish about a device group; none where the file says it already. */
export function deviceGroupEdits(write: DeviceGroupWrite, view: WriteView): FileEdit[] {
  const { name } = write;
  if (write.op === 'create') return createGroup(name, write.fields, view);
  if (!exists('device_group', name, view)) throw absent('device_group', name);
  if (write.op === 'delete') {
    return view.desired.pathsOf('device_group', name).map((path) => ({ path, text: null }));
  }
  return replaceGroup(name, write.fields, view);
}

function createGroup(name: string, fields: DeviceGroup, view: WriteView): FileEdit[] {
  const file = view.desired.group(name);
  if (isApplied('device_group', name, view.applied)) throw present('device_group', name);
  if (file !== undefined)
    throw blocked(problemsAt('device_group', name, view), `${file.path} is not applied`);
  refuseUnknownApps(fields, view);
  return [{ path: newFilePath('device_group', name), text: renderYaml(fields) }];
}

function replaceGroup(name: string, fields: DeviceGroup, view: WriteView): FileEdit[] {
  refuseUnknownApps(fields, view);
  const [path, ...twins] = view.desired.pathsOf('device_group', name);
  if (path === undefined) return [{ path: newFilePath('device_group', name), text: renderYaml(fields) }];
  const text = view.texts.get(path) ?? '';
  const edited = rewrite(text, () => fields, view.read);
  const removals = twins.map((twin): FileEdit => ({ path: twin, text: null }));
  if (edited !== text) return [{ path, text: edited }, ...removals];
  if (removals.length === 0) refuseUnapplied(name, fields, view);
  return removals;
}

/** The file says it already, and devices are told something else: what keeps it from them is the answer. */
function refuseUnapplied(name: string, fields: DeviceGroup, view: WriteView): void {
  if (sameContent(view.applied.group(name), fields)) return;
  const problems = problemsAt('device_group', name, view);
  if (problems.length > 0) throw blocked(problems, '');
}

/**
 * Decisions, "Device groups": an unknown app is told with the names, not as a bad parameter. One that exists and cannot
 * be listed is a problem of the plan.
 */
function refuseUnknownApps({ apps }: DeviceGroup, view: WriteView): void {
  const unknown = apps.filter((app) => !exists('app', app, view));
  if (unknown.length > 0) throw unknownApps(unknown);
}
