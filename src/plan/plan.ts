import { fileProblem, type Problem, withFile } from '../desired/problem.ts';
import { runToEnd } from '../desired/run-to-end.ts';
import type { DesiredObject } from '../desired/state.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import { type Kind, keyOf, NAME_PATTERN, parseKey } from '../protocol/name.ts';
import { sameValue } from '../protocol/values.ts';
import { planDevice } from './plan-device.ts';
import { orderSteps, type Step } from './step.ts';
import {
  type AppliedView,
  type DesiredView,
  groupsAfter,
  isAvailable,
  isKeptBy,
  type ObjectPlanning,
  originOf,
  type Suggest,
  type Views,
} from './views.ts';

/** The steps to take, and the problems that keep other objects from changing. */
export interface Plan {
  steps: Step[];
  /**
   * Problems between objects, by the key of the object that they hold back. Every object that was planned has an entry;
   * an empty list means that its earlier problems are solved.
   */
  problems: Map<string, Problem[]>;
}

/**
 * Compares the desired state with the applied state, for the objects in `keys` and all objects that depend on them.
 * This is the only planner: the command line, API writes, the status and passes all use it, so that a preview shows
 * what will be applied.
 *
 * Three kinds of changes are held back: of an object whose file is invalid; of a group or device that names an app or group
 * which does not exist or was never valid; and the delete of what the last good content of one that is held back names.
 */
export function makePlan(
  keys: Iterable<string>,
  desired: DesiredView,
  applied: AppliedView,
  suggest: Suggest = () => null,
): Plan {
  return runToEnd(planning(keys, desired, applied, suggest));
}

/**
 * `makePlan` in pieces, for callers that let other work run in between. No piece reads more than one group's list.
 * Neither state may change until the plan is complete.
 */
export function* planning(
  keys: Iterable<string>,
  desired: DesiredView,
  applied: AppliedView,
  suggest: Suggest = () => null,
): Generator<undefined, Plan, undefined> {
  const steps: Step[] = [];
  const problems = new Map<string, Problem[]>();
  const views: Views = { desired, applied, after: groupsAfter(desired, applied), suggest };
  for (const key of yield* withDependents(keys, desired, applied)) {
    const { kind, name } = parseKey(key);
    const planned = yield* PLANNERS[kind](name, views);
    if (planned.step !== null) steps.push(planned.step);
    problems.set(key, planned.problems);
    yield;
  }
  return { steps: orderSteps(steps), problems };
}

const PLANNERS: Readonly<Record<Kind, (name: string, views: Views) => ObjectPlanning>> = {
  app: planApp,
  device_group: planGroup,
  device: planDevice,
};

/**
 * Returns the keys and those of dependent objects: what has a file that names one of them; then what has no file, and is named
 * by the applied content of one of them.
 */
function* withDependents(
  keys: Iterable<string>,
  desired: DesiredView,
  applied: AppliedView,
): Generator<undefined, Set<string>, undefined> {
  const all = new Set(keys);
  for (const app of namesOf(all, 'app')) {
    for (const group of desired.groupsListing(app)) all.add(keyOf('device_group', group));
    yield;
  }
  for (const group of namesOf(all, 'device_group')) {
    for (const device of desired.devicesIn(group)) all.add(keyOf('device', device));
    yield;
  }
  const former = namesOf(all, 'device').map((device) => applied.device(device)?.device_group);
  for (const group of former.filter((each) => each !== undefined && desired.group(each) === undefined))
    all.add(keyOf('device_group', group ?? ''));
  for (const group of namesOf(all, 'device_group')) {
    const withoutFile = applied.group(group)?.apps.filter((app) => desired.app(app) === undefined) ?? [];
    for (const app of withoutFile) all.add(keyOf('app', app));
    yield;
  }
  return all;
}

function namesOf(keys: Iterable<string>, kind: Kind): string[] {
  return Array.from(keys, parseKey).flatMap((key) => (key.kind === kind ? [key.name] : []));
}

function* planApp(name: string, views: Views): ObjectPlanning {
  const { desired, applied } = views;
  const file = desired.app(name);
  const before = applied.app(name) ?? null;
  if (file === undefined) return yield* planAppRemoval(name, views);
  if (file.content === undefined || sameValue(before, file.content)) return { step: null, problems: [] };
  return { step: { kind: 'app', name, before, after: file.content, origin: originOf(file) }, problems: [] };
}

function* planAppRemoval(name: string, { desired, applied, after }: Views): ObjectPlanning {
  const before = applied.app(name);
  if (before === undefined) return { step: null, problems: [] };
  const holders: string[] = [];
  for (const group of applied.groupsListing(name)) {
    if (after(group)?.apps.includes(name)) holders.push(group);
    yield;
  }
  if (holders.length === 0) {
    return { step: { kind: 'app', name, before, after: null, origin: null }, problems: [] };
  }
  return { step: null, problems: holders.flatMap((group) => retainedProblem(name, group, desired)) };
}

/** Returns none for a group whose valid file still lists the app, since `memberProblems` reports that already. */
function retainedProblem(app: string, group: string, desired: DesiredView): Problem[] {
  const file = desired.group(group);
  if (file === undefined || file.content?.apps.includes(app)) return [];
  const message = `app "${app}" was removed, but the last good state of this group still lists it; fix this file, and the app is deleted`;
  return [withFile(file.path, fileProblem('app-retained', message))];
}

function* planGroup(name: string, { desired, applied, suggest }: Views): ObjectPlanning {
  const file = desired.group(name);
  const before = applied.group(name) ?? null;
  if (file === undefined) return yield* planGroupRemoval(name, desired, applied);
  const after = file.content;
  if (after === undefined) return { step: null, problems: [] };
  const problems = memberProblems(file, after, desired, applied, suggest);
  if (problems.length > 0 || sameValue(before, after)) return { step: null, problems };
  return { step: { kind: 'device_group', name, before, after, origin: originOf(file) }, problems };
}

function* planGroupRemoval(name: string, desired: DesiredView, applied: AppliedView): ObjectPlanning {
  const before = applied.group(name);
  if (before === undefined) return { step: null, problems: [] };
  const problems: Problem[] = [];
  let isKept = false;
  for (const device of applied.devicesIn(name)) {
    yield;
    if (!isKeptBy(name, device, desired, applied)) continue;
    isKept = true;
    const file = desired.device(device);
    // `planDevice` reports a file that names the group.
    if (file === undefined || file.content?.device_group === name) continue;
    const message = `device group "${name}" was removed, but it is that of the last good state of this device; fix this file, and the group is deleted`;
    problems.push(withFile(file.path, fileProblem('group-retained', message)));
  }
  if (isKept) return { step: null, problems };
  return { step: { kind: 'device_group', name, before, after: null, origin: null }, problems };
}

/** Returns a problem for each listed app that is not available. */
function memberProblems(
  file: DesiredObject<DeviceGroup>,
  group: DeviceGroup,
  desired: DesiredView,
  applied: AppliedView,
  suggest: Suggest,
): Problem[] {
  return group.apps.flatMap((app, index) => {
    if (isAvailable(app, desired, applied)) return [];
    const position = file.memberPositions[index] ?? { line: 1, column: 1 };
    const appFile = desired.app(app);
    if (appFile === undefined) {
      const message = unknownAppMessage(app, (name) => isAvailable(name, desired, applied), suggest);
      return [withFile(file.path, { ...position, code: 'app-unknown', message })];
    }
    const message = `app "${app}" was never valid; this group waits until ${appFile.path} is fixed`;
    return [withFile(file.path, { ...position, code: 'app-waiting', message })];
  });
}

/** If the list has the path or file name of an app, a common mistake, the message gives the name to write instead. */
function unknownAppMessage(app: string, isKnown: (name: string) => boolean, suggest: Suggest): string {
  const name = app.replace(/^.*\//, '').replace(/\.ya?ml$/, '');
  const isPath = app.includes('/') || isKnown(name);
  if (isPath)
    return `there is no app "${app}": an app has the name of its file, without folder and extension; ${isKnown(name) ? `write "${name}"` : 'remove it from this list'}`;
  const near = suggest(app, 'app');
  if (near !== null) return `there is no app "${app}"; did you mean "${near}"?`;
  return NAME_PATTERN.test(app)
    ? `there is no app "${app}"; add apps/${app}.yaml, or remove the name from this list`
    : `there is no app "${app}", and that is not a valid name; remove it from this list`;
}
