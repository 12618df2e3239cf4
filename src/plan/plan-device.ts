import { type Problem, withFile } from '../desired/problem.ts';
import type { DesiredObject } from '../desired/state.ts';
import type { Device } from '../protocol/device-fields.ts';
import { sameValue } from '../protocol/values.ts';
import type { Step } from './step.ts';
import { groupOfFile, type ObjectPlanning, originOf, type Views } from './views.ts';

/** Plans one device. It is held back while its group does not exist. */
export function* planDevice(name: string, views: Views): ObjectPlanning {
  const { desired, applied } = views;
  const file = desired.device(name);
  const before = applied.device(name) ?? null;
  if (file === undefined) {
    const step: Step | null =
      before === null ? null : { kind: 'device', name, before, after: null, origin: null };
    return { step, problems: [] };
  }
  const after = file.content;
  if (after === undefined) return { step: null, problems: [] };
  const problems = groupProblems(file, after.device_group, views);
  yield;
  if (problems.length > 0 || sameValue(before, after)) return { step: null, problems };
  return { step: { kind: 'device', name, before, after, origin: originOf(file) }, problems };
}

/** Returns a problem for the group of a device if there is none, or none that was ever valid. */
function groupProblems(
  { path, memberPositions }: DesiredObject<Device>,
  group: string | undefined,
  { desired, applied, suggest }: Views,
): Problem[] {
  if (group === undefined || groupOfFile(group, desired, applied) !== undefined) return [];
  const position = memberPositions[0] ?? { line: 1, column: 1 };
  const groupFile = desired.group(group);
  if (groupFile !== undefined) {
    const message = `device group "${group}" was never valid; this device waits until ${groupFile.path} is fixed`;
    return [withFile(path, { ...position, code: 'group-waiting', message })];
  }
  const near = suggest(group, 'device_group');
  const meant =
    near === null ? `add device-groups/${group}.yaml, or name another one` : `did you mean "${near}"?`;
  const message = `there is no device group "${group}"; ${meant}`;
  return [withFile(path, { ...position, code: 'group-unknown', message })];
}
