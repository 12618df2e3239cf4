import { readdir } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { desiredStateFolderOf } from '../../desired/file.ts';
import type { Problem } from '../../desired/problem.ts';
import type { DesiredState } from '../../desired/state.ts';
import type { Step } from '../../plan/step.ts';
import type { Suggest } from '../../plan/views.ts';
import { type AppDefaults, appDefaults } from '../../protocol/app.ts';
import { parseKey } from '../../protocol/name.ts';
import { closestName } from '../../suggest.ts';
import { type CommandIo, settingsFrom, UsageError } from '../shell/io.ts';

/** The settings that `validate`, `plan` and `import` read. */
export interface FleetSettings {
  /** The folder of the desired state. */
  folder: string;
  defaults: AppDefaults;
}

/** Reads these settings; an explicit folder wins over `DESIRED_STATE`. Throws a UsageError with all their problems. */
export function fleetSettings({ env, readFile }: CommandIo, folder: string | undefined): FleetSettings {
  const { DESIRED_STATE, DEFAULT_NETWORKS } = env;
  const config = settingsFrom({ env: { DESIRED_STATE, DEFAULT_NETWORKS }, readFile });
  return { folder: folder ?? config.DESIRED_STATE, defaults: appDefaults(config.DEFAULT_NETWORKS) };
}

/**
 * Rejects with a UsageError if a folder without objects has no folders for them either: it is the wrong one, and would pass
 * every check.
 */
export async function requireFleet(folder: string, state: DesiredState): Promise<void> {
  if (!state.isEmpty) return;
  const names = await readdir(folder);
  if (names.includes('apps') || names.includes('device-groups')) return;
  const meant = folderAbove(folder) ?? folderBelow(folder, state);
  const hint = meant === null ? '' : `; did you mean ${meant}?`;
  throw new UsageError(`there is no apps/ and no device-groups/ in ${folder}${hint}`);
}

/** Returns `fleet` for `fleet/apps` and folders in it. */
function folderAbove(folder: string): string | null {
  const [, above] = /^(.*?)(?:^|\/)(?:apps|device-groups)(?:\/|$)/.exec(normalize(folder)) ?? [];
  return above === undefined ? null : above || '.';
}

/** Returns `fleet/desired-state` for `fleet`, if files of objects are there. */
function folderBelow(folder: string, state: DesiredState): string | null {
  for (const { path } of state.files()) {
    const below = desiredStateFolderOf(path);
    if (below !== null) return join(folder, below);
  }
  return null;
}

/** Suggests objects of a state for names that are probably misspelt. */
export function suggestObjects(state: DesiredState): Suggest {
  const keys = [...state.keys()].map(parseKey);
  return (unknown, kind) =>
    closestName(
      unknown,
      keys.flatMap((key) => (key.kind === kind ? [key.name] : [])),
    );
}

/** Puts the folder before the file of each problem, so that the paths can be opened from the current directory. */
export function prefixProblems(folder: string, problems: readonly Problem[]): Problem[] {
  return problems.map((problem) => ({ ...problem, file: normalize(join(folder, problem.file)) }));
}

/** Does the same for the files of steps. */
export function prefixSteps(folder: string, steps: readonly Step[]): Step[] {
  return steps.map((step) => {
    const { origin } = step;
    return origin === null
      ? step
      : { ...step, origin: { ...origin, path: normalize(join(folder, origin.path)) } };
  });
}

/** Counts objects by their keys: "8 apps and 3 device groups", and devices if there are any. */
export function describeObjects(keys: Iterable<string>): string {
  const counts = { app: 0, device_group: 0, device: 0 };
  for (const key of keys) counts[parseKey(key).kind] += 1;
  const all = `${plural(counts.app, 'app')} and ${plural(counts.device_group, 'device group')}`;
  return counts.device === 0 ? all : `${all.replace(' and ', ', ')} and ${plural(counts.device, 'device')}`;
}

/** Returns how many of the problems are errors. */
export function countErrors(problems: readonly Problem[]): number {
  return problems.filter(({ severity }) => severity === 'error').length;
}

/** Returns a text such as "2 problems", or "2 problems, 1 warning" if there are warnings. */
export function describeProblems(problems: readonly Problem[]): string {
  const errors = countErrors(problems);
  const warnings = problems.length - errors;
  return warnings === 0
    ? plural(errors, 'problem')
    : `${plural(errors, 'problem')}, ${plural(warnings, 'warning')}`;
}

/** Returns "1 problem", "2 problems". */
function plural(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
