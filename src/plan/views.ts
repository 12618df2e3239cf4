import type { Problem } from '../desired/problem.ts';
import type { DesiredObject, DesiredState } from '../desired/state.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import type { Kind } from '../protocol/name.ts';
import type { AppliedState } from './applied.ts';
import type { FileOrigin, Step } from './step.ts';

/** The part of the desired state that planning reads. */
export type DesiredView = Pick<DesiredState, 'app' | 'group' | 'device' | 'groupsListing' | 'devicesIn'>;
/** The part of the applied state that planning reads. */
export type AppliedView = Pick<AppliedState, 'app' | 'group' | 'device' | 'groupsListing' | 'devicesIn'>;

/** Returns the object that an unknown name probably stands for, for messages; null if there is none. */
export type Suggest = (unknown: string, kind: Kind) => string | null;

/** The plan for one object. */
interface ObjectPlan {
  step: Step | null;
  problems: Problem[];
}

/** Makes the plan for one object, and yields so that other work can run. */
export type ObjectPlanning = Generator<undefined, ObjectPlan, undefined>;

/** Returns the content that a group will have once the plan is applied; undefined if it will not exist. */
export type GroupAfter = (group: string) => DeviceGroup | undefined;

/** What the plan of one object reads. */
export interface Views {
  desired: DesiredView;
  applied: AppliedView;
  after: GroupAfter;
  suggest: Suggest;
}

/** Whether a device whose applied content names a group without a file still names it once the plan is applied. */
export function isKeptBy(group: string, device: string, desired: DesiredView, applied: AppliedView): boolean {
  const file = desired.device(device);
  if (file === undefined) return false;
  if (file.content === undefined) return true;
  const { device_group: next } = file.content;
  return next === group || (next !== undefined && groupOfFile(next, desired, applied) === undefined);
}

/** Computes the content of each group at most once, because that checks all of its apps. */
export function groupsAfter(desired: DesiredView, applied: AppliedView): GroupAfter {
  const cache = new Map<string, DeviceGroup | undefined>();
  return (group) => {
    if (!cache.has(group)) cache.set(group, groupAfter(group, desired, applied));
    return cache.get(group);
  };
}

function groupAfter(name: string, desired: DesiredView, applied: AppliedView): DeviceGroup | undefined {
  if (desired.group(name) !== undefined) return groupOfFile(name, desired, applied);
  const isKept = [...applied.devicesIn(name)].some((device) => isKeptBy(name, device, desired, applied));
  return isKept ? applied.group(name) : undefined;
}

/** Returns the content that a group with a file will have; undefined without a file. */
export function groupOfFile(
  name: string,
  desired: DesiredView,
  applied: AppliedView,
): DeviceGroup | undefined {
  const file = desired.group(name);
  if (file === undefined) return undefined;
  const isHeldBack =
    file.content === undefined || file.content.apps.some((app) => !isAvailable(app, desired, applied));
  return isHeldBack ? applied.group(name) : file.content;
}

/** Whether a group can list an app: the app has a file, and the file is valid or was valid before. */
export function isAvailable(app: string, desired: DesiredView, applied: AppliedView): boolean {
  const file = desired.app(app);
  return file !== undefined && (file.content !== undefined || applied.app(app) !== undefined);
}

/** Returns the file that a step's content was read from. */
export function originOf(file: DesiredObject): FileOrigin {
  return { path: file.path, blob: file.blob };
}
