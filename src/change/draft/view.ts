import type { Problem } from '../../desired/problem.ts';
import type { DesiredState } from '../../desired/state.ts';
import type { AppliedState } from '../../plan/applied.ts';
import { makePlan } from '../../plan/plan.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import { type Kind, keyOf } from '../../protocol/name.ts';
import type { ChangeSet, Write } from '../write.ts';

/** What drafting a write needs to know about the fleet at the head of the branch. */
export interface WriteView {
  desired: DesiredState;
  applied: AppliedState;
  /** Keys of the objects that had problems with other objects at the last pass. */
  faulty: readonly string[];
  defaults: AppDefaults;
  /** Texts of the files that the set can edit (`filesOf`), by path. */
  texts: Map<string, string>;
}

/** Returns the paths of the files that a set can edit; for the delete of an app, also those of the groups that list it. */
export function filesOf({ changes }: Pick<ChangeSet, 'changes'>, desired: DesiredState): string[] {
  return [...new Set(changes.flatMap((write) => filesOfOne(write, desired)))];
}

function filesOfOne(write: Write, desired: DesiredState): string[] {
  if (write.op === 'file') return [write.path];
  const own = [...desired.pathsOf(write.kind, write.name)];
  if (!isAppDelete(write)) return own;
  const groups = [...desired.groupsListing(write.name)];
  return own.concat(groups.flatMap((group) => desired.pathsOf('device_group', group)));
}

/** Whether a write deletes an app: the only kind of write that also edits the files of other objects. */
export function isAppDelete({ kind, op }: Write): boolean {
  return kind === 'app' && op === 'delete';
}

/** Whether an object exists for the API: it is applied, or a file claims its name. */
export function exists(kind: Kind, name: string, { desired, applied }: WriteView): boolean {
  return applied.has(kind, name) || desired.pathsOf(kind, name).length > 0;
}

/**
 * Returns the problems that keep an object's files from being applied: those in the files, and those with other
 * objects.
 */
export function problemsAt(kind: Kind, name: string, { desired, applied }: WriteView): Problem[] {
  const key = keyOf(kind, name);
  return [...desired.problemsOf(kind, name), ...(makePlan([key], desired, applied).problems.get(key) ?? [])];
}
