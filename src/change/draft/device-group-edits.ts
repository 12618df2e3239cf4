import type { DeviceGroup } from '../../protocol/device-group.ts';
import { sameValue } from '../../protocol/values.ts';
import type { FileEdit } from '../../source/source.ts';
import { absentError, blockedError, groupHasDevices, presentError, unknownApps } from '../refusals.ts';
import type { DeviceGroupWrite } from '../write.ts';
import { editFile, newFile, removeFiles } from './file-edits.ts';
import { exists, problemsAt, type WriteView } from './view.ts';

/** Returns the file edits that carry out a write to a device group; none if the file already has its content. */
export function deviceGroupEdits(write: DeviceGroupWrite, view: WriteView): FileEdit[] {
  const { name } = write;
  if (write.op === 'create') return createGroup(name, write.fields, view);
  if (!exists('device_group', name, view)) throw absentError('device_group', name);
  if (write.op === 'delete') return deleteGroup(name, view);
  return replaceGroup(name, write.fields, view);
}

function deleteGroup(name: string, view: WriteView): FileEdit[] {
  const { desired, applied } = view;
  const isHeld = (device: string): boolean => {
    const file = desired.device(device);
    return file !== undefined && file.content === undefined;
  };
  const devices = [...new Set([...desired.devicesIn(name), ...[...applied.devicesIn(name)].filter(isHeld)])];
  if (devices.length > 0) throw groupHasDevices(name, devices);
  return removeFiles(desired.pathsOf('device_group', name));
}

function createGroup(name: string, fields: DeviceGroup, view: WriteView): FileEdit[] {
  if (view.applied.has('device_group', name)) throw presentError('device_group', name);
  if (view.desired.group(name) !== undefined) throw blockedError(problemsAt('device_group', name, view));
  refuseUnknownApps(fields, view);
  return [newFile('device_group', name, fields)];
}

function replaceGroup(name: string, fields: DeviceGroup, view: WriteView): FileEdit[] {
  refuseUnknownApps(fields, view);
  const [path, ...duplicates] = view.desired.pathsOf('device_group', name);
  if (path === undefined) return [newFile('device_group', name, fields)];
  const edits = [...editFile(path, view, () => fields), ...removeFiles(duplicates)];
  if (edits.length === 0) refuseUnapplied(name, fields, view);
  return edits;
}

/** For a file that already has the content: refuses the write if problems keep that content from being applied. */
function refuseUnapplied(name: string, fields: DeviceGroup, view: WriteView): void {
  if (sameValue(view.applied.group(name), fields)) return;
  const problems = problemsAt('device_group', name, view);
  if (problems.length > 0) throw blockedError(problems);
}

/** Refuses apps that do not exist. An app that exists but cannot be listed yet is a problem that the plan reports. */
function refuseUnknownApps({ apps }: DeviceGroup, view: WriteView): void {
  const unknown = apps.filter((app) => !exists('app', app, view));
  if (unknown.length > 0) throw unknownApps(unknown);
}
