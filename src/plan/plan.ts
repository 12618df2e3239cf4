import type { DeviceGroup } from '../desired/device-group.ts';
import { type Kind, keyOf, NAME_PATTERN, parseKey } from '../desired/name.ts';
import { fileProblem, inFile, type Problem } from '../desired/problem.ts';
import type { DesiredObject, DesiredState } from '../desired/state.ts';
import { sameValue } from '../desired/values.ts';
import { wholly } from '../desired/wholly.ts';
import type { AppliedState } from './applied.ts';
import { type FileOrigin, orderSteps, type Step } from './step.ts';

/** What planning reads of what the files say. */
export type DesiredView = Pick<DesiredState, 'app' | 'group' | 'groupsListing'>;
/** What planning reads of what devices are told. */
export type AppliedView = Pick<AppliedState, 'app' | 'group' | 'groupsListing'>;

/** What is to change, and what keeps other objects from changing. */
export interface Plan {
  steps: Step[];
  /**
   * Problems between objects, by key. Every object that was looked at has an entry: an empty list means that problems
   * which were known of it before are solved.
   */
  problems: Map<string, Problem[]>;
}

/**
 * Compares the desired with the applied state, for the objects in `keys` and all that depend on them. This is the only
 * planner: the command line, the commits of the API, the status and the apply all use it, so that what is previewed is
 * what is applied.
 *
 * Held back are: an object whose file is invalid; a group that names an app which does not exist or was never valid; and
 * the delete of an app, while the last good content of a group that is held back lists it.
 */
export function makePlan(keys: Iterable<string>, desired: DesiredView, applied: AppliedView): Plan {
  return wholly(planning(keys, desired, applied));
}

/**
 * `makePlan` in pieces, of which none looks at more than one group's list, for callers that give way to others. Neither
 * state may change meanwhile.
 */
export function* planning(
  keys: Iterable<string>,
  desired: DesiredView,
  applied: AppliedView,
): Generator<undefined, Plan, undefined> {
  const steps: Step[] = [];
  const problems = new Map<string, Problem[]>();
  const after = groupsAfter(desired, applied);
  for (const key of yield* dependents(keys, desired, applied)) {
    const { kind, name } = parseKey(key);
    const verdict =
      kind === 'app' ? yield* planApp(name, desired, applied, after) : planGroup(name, desired, applied);
    if (verdict.step !== null) steps.push(verdict.step);
    problems.set(key, verdict.problems);
    yield;
  }
  return { steps: orderSteps(steps), problems };
}

/** What is to be done about one object. */
interface Verdict {
  step: Step | null;
  problems: Problem[];
}

/** The content that a group has once the plan is applied. */
type GroupAfter = (group: string) => DeviceGroup | undefined;

/**
 * The keys, and those of what depends on them: groups whose files list one of the apps, and apps without a file that
 * one of the groups has listed so far.
 */
function* dependents(
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
    const gone = applied.group(group)?.apps.filter((app) => desired.app(app) === undefined) ?? [];
    for (const app of gone) all.add(keyOf('app', app));
    yield;
  }
  return all;
}

function namesOf(keys: Iterable<string>, kind: Kind): string[] {
  return Array.from(keys, parseKey).flatMap((key) => (key.kind === kind ? [key.name] : []));
}

type Planning = Generator<undefined, Verdict, undefined>;

function* planApp(name: string, desired: DesiredView, applied: AppliedView, after: GroupAfter): Planning {
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
): Planning {
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

/** Not for a group whose valid file still lists the app: `memberProblems` tells that already. */
function retainedProblem(app: string, group: string, desired: DesiredView): Problem[] {
  const file = desired.group(group);
  if (file === undefined || file.content?.apps.includes(app)) return [];
  const message = `app "${app}" was removed, but the last good state of this group still lists it; fix this file, and the app is deleted`;
  return [inFile(file.path, fileProblem('app-retained', message))];
}

function planGroup(name: string, desired: DesiredView, applied: AppliedView): Verdict {
  const file = desired.group(name);
  const before = applied.group(name) ?? null;
  if (file === undefined) {
    const step: Step | null =
      before === null ? null : { kind: 'device_group', name, before, after: null, origin: null };
    return { step, problems: [] };
  }
  const after = file.content;
  if (after === undefined) return { step: null, problems: [] };
  const problems = memberProblems(file, after, desired, applied);
  if (problems.length > 0 || sameValue(before, after)) return { step: null, problems };
  return { step: { kind: 'device_group', name, before, after, origin: originOf(file) }, problems };
}

/** Each group is looked at once, however many apps it loses: every look goes through all of its apps. */
function groupsAfter(desired: DesiredView, applied: AppliedView): GroupAfter {
  const known = new Map<string, DeviceGroup | undefined>();
  return (group) => {
    if (!known.has(group)) known.set(group, groupAfter(group, desired, applied));
    return known.get(group);
  };
}

function groupAfter(name: string, desired: DesiredView, applied: AppliedView): DeviceGroup | undefined {
  const file = desired.group(name);
  if (file === undefined) return undefined;
  const waits =
    file.content === undefined || file.content.apps.some((app) => !isAvailable(app, desired, applied));
  return waits ? applied.group(name) : file.content;
}

/** Whether a group may name an app: it has a file, and a content, be it the last good one. */
export function isAvailable(app: string, desired: DesiredView, applied: AppliedView): boolean {
  const file = desired.app(app);
  return file !== undefined && (file.content !== undefined || applied.app(app) !== undefined);
}

/** The problems of a group that names apps which it may not name. */
function memberProblems(
  file: DesiredObject<DeviceGroup>,
  group: DeviceGroup,
  desired: DesiredView,
  applied: AppliedView,
): Problem[] {
  return group.apps.flatMap((app, index) => {
    if (isAvailable(app, desired, applied)) return [];
    const position = file.memberPositions[index] ?? { line: 1, column: 1 };
    const waiting = desired.app(app);
    if (waiting === undefined) {
      const message = unknownApp(app, (name) => isAvailable(name, desired, applied));
      return [inFile(file.path, { ...position, code: 'app-unknown', message })];
    }
    const message = `app "${app}" was never valid; this group waits until ${waiting.path} is fixed`;
    return [inFile(file.path, { ...position, code: 'app-waiting', message })];
  });
}

/** Says what to write instead of a path or a file's name, which people take for the name of an app. */
function unknownApp(app: string, isThere: (name: string) => boolean): string {
  const name = app.replace(/^.*\//, '').replace(/\.ya?ml$/, '');
  const isPath = app.includes('/') || isThere(name);
  if (isPath)
    return `there is no app "${app}": an app has the name of its file, without folder and extension; ${isThere(name) ? `write "${name}"` : 'remove it from this list'}`;
  return NAME_PATTERN.test(app)
    ? `there is no app "${app}"; add apps/${app}.yaml, or remove the name from this list`
    : `there is no app "${app}", and that is not a valid name; remove it from this list`;
}

function originOf(file: DesiredObject): FileOrigin {
  return { path: file.path, blob: file.blob };
}
