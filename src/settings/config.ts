import { accountProblem, type Env, flagsOf, isFlagAmong, type ReadFile, readSettings } from './read.ts';
import { type Config, SETTINGS, type SettingName } from './table.ts';

/** Either all settings, or all problems found in them: each is a sentence that names the flag or variable. */
export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: string[] };

function refuseFile(): never {
  throw new Error('no files are read here');
}

/** Reads all settings of the manager from the environment and the flags of `serve`, as `readSettings` does. */
export function parseConfig(
  env: Env,
  argv: readonly string[],
  readFile: ReadFile = refuseFile,
): ConfigResult {
  const { values, givenNames, problems } = readSettings(SETTINGS, { env, argv, readFile });
  problems.push(...combinationProblems(givenNames, values));
  return problems.length > 0 ? { ok: false, problems } : { ok: true, config: values as unknown as Config };
}

const FLAGS = flagsOf(SETTINGS);

/** Reports whether an argument is a flag of `serve`, with or without a value after `=`. */
export function isFlag(argument: string): boolean {
  return isFlagAmong(FLAGS, argument);
}

/** Checks the rules that concern more than one setting. */
function combinationProblems(
  givenNames: ReadonlySet<string>,
  config: Readonly<Partial<Record<SettingName, unknown>>>,
): string[] {
  const problems: string[] = [];
  for (const account of ['BASIC', 'DEVICE'] as const) {
    const problem = accountProblem(`${account}_AUTH`, givenNames);
    if (problem !== null) problems.push(problem);
  }
  const { BASIC_AUTH_PASSWORD, DEVICE_AUTH_PASSWORD } = config;
  if (DEVICE_AUTH_PASSWORD !== null && DEVICE_AUTH_PASSWORD === BASIC_AUTH_PASSWORD)
    problems.push('DEVICE_AUTH_PASSWORD equals BASIC_AUTH_PASSWORD: any device could change the fleet');
  if (givenNames.has('GIT_REMOTE') && !isPathInside(String(config.DESIRED_STATE)))
    problems.push('DESIRED_STATE must be a path inside the repository when GIT_REMOTE is set');
  return problems;
}

function isPathInside(path: string): boolean {
  return !path.startsWith('/') && !path.split('/').includes('..') && !/\p{Cc}/u.test(path);
}
