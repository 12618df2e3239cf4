import type { AppDefaults } from '../desired/app.ts';
import type { Diagnostic } from '../desired/diagnostic.ts';
import { type Kind, keyOf } from '../desired/name.ts';
import type { DesiredState } from '../desired/state.ts';
import type { ReadYaml } from '../desired/yaml/document.ts';
import { HoldfastError } from '../errors.ts';
import type { AppliedState } from '../plan/applied.ts';
import { makePlan } from '../plan/plan.ts';
import type { Write } from './write.ts';

/** The fleet at the head of the branch, as a write sees it. */
export interface WriteView {
  desired: DesiredState;
  applied: AppliedState;
  /** Keys of the objects that had problems with others when the last pass looked. */
  faulty: readonly string[];
  defaults: AppDefaults;
  /** Texts of the files that the write may edit, by path. */
  texts: ReadonlyMap<string, string>;
  read: ReadYaml;
}

/** Paths of the files that a write may edit. */
export function filesOf(write: Write, desired: DesiredState): string[] {
  const own = [...desired.pathsOf(write.kind, write.name)];
  if (write.kind !== 'app' || write.op !== 'delete') return own;
  const groups = [...desired.groupsListing(write.name)];
  return own.concat(groups.flatMap((group) => desired.pathsOf('device_group', group)));
}

/** Whether the object exists for the API: devices are told of it, or a file claims its name. */
export function exists(kind: Kind, name: string, { desired, applied }: WriteView): boolean {
  return isApplied(kind, name, applied) || desired.pathsOf(kind, name).length > 0;
}

export function isApplied(kind: Kind, name: string, applied: AppliedState): boolean {
  return (kind === 'app' ? applied.app(name) : applied.group(name)) !== undefined;
}

/** The rejection of a write whose object is not there; the detail is the contract's (section 7). */
export function absent(kind: Kind, name: string): HoldfastError {
  const noun = kind === 'app' ? 'app' : 'device group';
  return new HoldfastError('absent', `there is no ${noun} "${name}"`, { [existsField(kind)]: false });
}

/** The rejection of a create for a name that is taken. */
export function present(kind: Kind, name: string): HoldfastError {
  const noun = kind === 'app' ? 'app' : 'device group';
  return new HoldfastError('present', `there is a ${noun} "${name}" already`, { [existsField(kind)]: true });
}

function existsField(kind: Kind): string {
  return kind === 'app' ? 'app_exists' : 'device_group_exists';
}

/** What keeps an object's files from being applied: problems in them, and between them and others. */
export function problemsAt(kind: Kind, name: string, { desired, applied }: WriteView): Diagnostic[] {
  const key = keyOf(kind, name);
  return [...desired.problemsOf(kind, name), ...(makePlan([key], desired, applied).problems.get(key) ?? [])];
}

/** The rejection of a write that the repository's state does not allow; names files and problems. */
export function blocked(problems: readonly Diagnostic[], otherwise: string): HoldfastError {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  const message =
    first === undefined ? otherwise : `${first.file}:${first.line}:${first.column}: ${first.message}${more}`;
  return new HoldfastError('conflict', message, problems.length > 0 ? { problems } : {});
}
