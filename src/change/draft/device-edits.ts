import type { DeviceBody } from '../../protocol/device-fields.ts';
import { type Fields, isEmptyCollection } from '../../protocol/values.ts';
import type { FileEdit } from '../../source/source.ts';
import { absentError, blockedError, presentError } from '../refusals.ts';
import type { DeviceWrite } from '../write.ts';
import type { WriteMode } from './fields.ts';
import { editFile, newFile, removeFiles } from './file-edits.ts';
import { exists, problemsAt, type WriteView } from './view.ts';

/** Returns the file edits that carry out a write to a device; none if the file already has its content. */
export function deviceEdits(write: DeviceWrite, view: WriteView): FileEdit[] {
  const { name } = write;
  if (write.op === 'create') return createDevice(name, write.fields, view);
  if (!exists('device', name, view)) throw absentError('device', name);
  if (write.op === 'delete') return removeFiles(view.desired.pathsOf('device', name));
  return updateDevice(name, write.fields, write.op, view);
}

function createDevice(name: string, fields: DeviceBody, view: WriteView): FileEdit[] {
  if (view.applied.has('device', name)) throw presentError('device', name);
  if (view.desired.device(name) !== undefined) throw blockedError(problemsAt('device', name, view));
  refuseUnknownGroup(fields, view);
  return [newFile('device', name, deviceFields({}, fields, 'replace'))];
}

/** A full update also repairs an invalid file, a name that several files claim, and a missing file. */
function updateDevice(name: string, fields: DeviceBody, mode: WriteMode, view: WriteView): FileEdit[] {
  refuseUnknownGroup(fields, view);
  const [path, ...duplicates] = view.desired.pathsOf('device', name);
  if (mode === 'change' && view.desired.device(name)?.content === undefined)
    throw blockedError(problemsAt('device', name, view));
  if (path === undefined) return [newFile('device', name, deviceFields({}, fields, 'replace'))];
  const edits = editFile(path, view, (file) => deviceFields(file, fields, mode));
  edits.push(...removeFiles(duplicates));
  const problems = edits.length > 0 ? [] : problemsAt('device', name, view);
  if (problems.length > 0) throw blockedError(problems);
  return edits;
}

/** Returns the fields that a file has after a write, which keeps the order and empty fields of the file. */
function deviceFields(file: Fields, requested: DeviceBody, mode: WriteMode): Fields {
  const fields: Record<string, unknown> = {};
  const given: Fields = requested;
  for (const field of new Set([...Object.keys(file), ...Object.keys(given)])) {
    const value = field in given || mode === 'replace' ? given[field] : file[field];
    const isAbsent = value == null || isEmptyCollection(value);
    if (!isAbsent) fields[field] = value;
    else if (isEmptyCollection(file[field])) fields[field] = file[field];
  }
  return fields;
}

function refuseUnknownGroup({ device_group: group }: DeviceBody, view: WriteView): void {
  if (group != null && !exists('device_group', group, view)) throw absentError('device_group', group);
}
