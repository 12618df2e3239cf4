import { readdir } from 'node:fs/promises';
import { join, normalize } from 'node:path';
import { type AppDefaults, appDefaults } from '../desired/app.ts';
import type { TreeEntry } from '../desired/entry.ts';
import { loadFile, type ReadBlob } from '../desired/load.ts';
import type { Problem } from '../desired/problem.ts';
import type { DesiredState } from '../desired/state.ts';
import type { Step } from '../plan/step.ts';
import { type CommandIo, settingsFrom } from './io.ts';

/** What commands take from the settings: the folder that is meant, and the defaults of apps. */
export interface FleetSettings {
  folder: string;
  defaults: AppDefaults;
}

/** Throws a UsageError with every problem of the settings that commands read. */
export function fleetSettings({ env, readFile }: CommandIo, folder: string | undefined): FleetSettings {
  const { DESIRED_STATE, DEFAULT_NETWORKS } = env;
  const config = settingsFrom({ env: { DESIRED_STATE, DEFAULT_NETWORKS }, readFile });
  return { folder: folder ?? config.DESIRED_STATE, defaults: appDefaults(config.DEFAULT_NETWORKS) };
}

/** A folder without a place for objects is likely the wrong one, and nothing else would tell a green check from it. */
export async function warnOfNoFleet(folder: string, io: CommandIo): Promise<void> {
  const names = (await readdir(folder, { withFileTypes: true })).map(({ name }) => name);
  if (names.includes('apps') || names.includes('device-groups')) return;
  io.complain(
    `holdfast: warning: ${folder} has neither apps/ nor device-groups/, so it contains no objects; is it the right folder?\n`,
  );
}

/** Reads every entry into a state, and resolves to that. */
export async function loadEntries(
  state: DesiredState,
  entries: readonly TreeEntry[],
  read: ReadBlob,
  defaults: AppDefaults,
): Promise<DesiredState> {
  for (const entry of entries) {
    const file = await loadFile(entry, read, defaults);
    state.apply([{ path: entry.path, file }]);
  }
  return state;
}

/** Problems with their files as the caller can open them: from where the command was run. */
export function problemsFromHere(folder: string, problems: readonly Problem[]): Problem[] {
  return problems.map((problem) => ({ ...problem, file: normalize(join(folder, problem.file)) }));
}

/** The same for the files of steps. */
export function stepsFromHere(folder: string, steps: readonly Step[]): Step[] {
  return steps.map((step) => {
    const { origin } = step;
    return origin === null
      ? step
      : { ...step, origin: { ...origin, path: normalize(join(folder, origin.path)) } };
  });
}

/** `countFleet` of what has files. */
export function countObjects(state: DesiredState): string {
  const keys = [...state.keys()];
  const apps = keys.filter((key) => key.startsWith('app/')).length;
  return countFleet(apps, keys.length - apps);
}

/** "8 apps and 3 device groups". */
export function countFleet(apps: number, groups: number): string {
  return `${count(apps, 'app')} and ${count(groups, 'device group')}`;
}

/** How many errors there are among problems. */
export function countErrors(problems: readonly Problem[]): number {
  return problems.filter(({ severity }) => severity === 'error').length;
}

/** "2 problems, 1 warning"; warnings are named where there are some. */
export function countProblems(problems: readonly Problem[]): string {
  const errors = countErrors(problems);
  const warnings = problems.length - errors;
  return warnings === 0
    ? count(errors, 'problem')
    : `${count(errors, 'problem')}, ${count(warnings, 'warning')}`;
}

/** "1 problem", "2 problems". */
function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
