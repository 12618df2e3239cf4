import { fileProblem, type Problem, withFile } from '../desired/problem.ts';
import { runToEnd } from '../desired/run-to-end.ts';
import type { DesiredObject, DesiredState } from '../desired/state.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import { type Kind, keyOf, NAME_PATTERN, parseKey } from '../protocol/name.ts';
import { sameValue } from '../protocol/values.ts';
import type { AppliedState } from './applied.ts';
import { type FileOrigin, orderSteps, type Step } from './step.ts';

/** The part of the desired state that planning reads. */
export type DesiredView = Pick<DesiredState, 'app' | 'group' | 'groupsListing'>;
/** The part of the applied state that planning reads. */
export type AppliedView = Pick<AppliedState, 'app' | 'group' | 'groupsListing'>;

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
 * Three kinds of changes are held back: of an object whose file is invalid; of a group that lists an app which does not
 * exist or was never valid; and the delete of an app that is in the last good list of a group which is held back.
 */
export function makePlan(
  keys: Iterable<string>,
  desired: DesiredView,
  applied: AppliedView,
  suggest: Suggest = () => null,
): Plan {
  return runToEnd(planning(keys, desired, applied, suggest));
}

/** Returns the app that an unknown name probably stands for, for messages; null if there is none. */
export type Suggest = (unknown: string) => string | null;

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
  const after = groupsAfter(desired, applied);
  for (const key of yield* withDependents(keys, desired, applied)) {
    const { kind, name } = parseKey(key);
    const planned =
      kind === 'app'
        ? yield* planApp(name, desired, applied, after)
        : planGroup(name, desired, applied, suggest);
    if (planned.step !== null) steps.push(planned.step);
    problems.set(key, planned.problems);
    yield;
  }
  return { steps: orderSteps(steps), problems };
}

/** The plan for one object. */
interface ObjectPlan {
  step: Step | null;
  problems: Problem[];
}

type ObjectPlanning = Generator<undefined, ObjectPlan, undefined>;

/** Returns the content that a group will have once the plan is applied; undefined if it will not exist. */
type GroupAfter = (group: string) => DeviceGroup | undefined;

/**
 * Returns the keys and those of dependent objects: groups whose files list one of the apps, and apps without a file
 * that the applied content of one of the groups lists.
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
    const withoutFile = applied.group(group)?.apps.filter((app) => desired.app(app) === undefined) ?? [];
    for (const app of withoutFile) all.add(keyOf('app', app));
    yield;
  }
  return all;
}

function namesOf(keys: Iterable<string>, kind: Kind): string[] {
  return Array.from(keys, parseKey).flatMap((key) => (key.kind === kind ? [key.name] : []));
}

function* planApp(
  name: string,
  desired: DesiredView,
  applied: AppliedView,
  after: GroupAfter,
): ObjectPlanning {
  const file = desired.app(name);
  const before = applied.app(name) ?? null;
  if (file === undefined) return yield* planAppRemoval(name, desired, applied, after);
  if (file.content === undefined || sameValue(before, file.content)) return { step: null, problems: [] };
  return { step: { kind: 'app', name, before, after: file.content, origin: originOf(file) }, problems: [] };
}

function* planAppRemoval(
  name: string,
  desired: DesiredView,
  applied: AppliedView,
  after: GroupAfter,
): ObjectPlanning {
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

function planGroup(name: string, desired: DesiredView, applied: AppliedView, suggest: Suggest): ObjectPlan {
  const file = desired.group(name);
  const before = applied.group(name) ?? null;
  if (file === undefined) {
    const step: Step | null =
      before === null ? null : { kind: 'device_group', name, before, after: null, origin: null };
    return { step, problems: [] };
  }
  const after = file.content;
  if (after === undefined) return { step: null, problems: [] };
  const problems = memberProblems(file, after, desired, applied, suggest);
  if (problems.length > 0 || sameValue(before, after)) return { step: null, problems };
  return { step: { kind: 'device_group', name, before, after, origin: originOf(file) }, problems };
}

/** Computes the content of each group at most once, because that checks all of its apps. */
function groupsAfter(desired: DesiredView, applied: AppliedView): GroupAfter {
  const cache = new Map<string, DeviceGroup | undefined>();
  return (group) => {
    if (!cache.has(group)) cache.set(group, groupAfter(group, desired, applied));
    return cache.get(group);
  };
}

function groupAfter(name: string, desired: DesiredView, applied: AppliedView): DeviceGroup | undefined {
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
  const near = suggest(app);
  if (near !== null) return `there is no app "${app}"; did you mean "${near}"?`;
  return NAME_PATTERN.test(app)
    ? `there is no app "${app}"; add apps/${app}.yaml, or remove the name from this list`
    : `there is no app "${app}", and that is not a valid name; remove it from this list`;
}

function originOf(file: DesiredObject): FileOrigin {
  return { path: file.path, blob: file.blob };
}
