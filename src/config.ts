import { messageOf } from './errors.ts';
import { type Config, SETTING_NAMES, SETTINGS, type Setting, type SettingName } from './settings.ts';
import { closestName } from './suggest.ts';

/** Either all settings, or all problems found in them: each is a sentence that names the flag or variable. */
export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: string[] };

type Env = Readonly<Record<string, string | undefined>>;

/** Reads a file as text; throws an error that says why it cannot. */
type ReadFile = (path: string) => string;

function refuseFile(): never {
  throw new Error('no files are read here');
}

/** Returns the name of a setting's flag: `git-poll-interval` for `GIT_POLL_INTERVAL`. */
export function flagOf(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

/**
 * Reads all settings from the environment and the flags of `serve`; flags win. An empty variable counts as unset. A
 * secret can be read from the file whose path `NAME_FILE` gives. Reports all problems at once. Pure: the result depends
 * on the arguments alone.
 */
export function parseConfig(
  env: Env,
  argv: readonly string[],
  readFile: ReadFile = refuseFile,
): ConfigResult {
  const flags = parseFlags(argv);
  const problems = [...flags.problems];
  const givenNames = new Set<SettingName>();
  const config: Partial<Record<SettingName, unknown>> = {};
  for (const name of SETTING_NAMES) {
    const reading = readSetting(name, (key) => givenText(key, flags.values, env), readFile);
    if (reading.problem !== null) problems.push(reading.problem);
    if (reading.isGiven) givenNames.add(name);
    config[name] = reading.value;
  }
  problems.push(...combinationProblems(givenNames, config));
  return problems.length > 0 ? { ok: false, problems } : { ok: true, config: config as unknown as Config };
}

/**
 * Returns the name of the variable that gives a secret by the path of a file, as container platforms provide secrets:
 * `GIT_TOKEN_FILE` for `GIT_TOKEN`. Returns null if the setting is not a secret.
 */
export function fileVariableOf(name: SettingName): string | null {
  const { isSecret }: Setting<unknown> = SETTINGS[name];
  return isSecret === true ? `${name}_FILE` : null;
}

const FLAGS = [...new Set(SETTING_NAMES.flatMap((name) => [name, fileVariableOf(name) ?? name]).map(flagOf))];

/** Returns an argument without the value after `=`, which can be a secret. */
export function withoutValue(argument: string): string {
  return argument.replace(/=.*$/s, '');
}

/** Reports whether an argument is a flag of `serve`, with or without a value after `=`. */
export function isFlag(argument: string): boolean {
  return argument.startsWith('--') && FLAGS.includes(withoutValue(argument).slice(2));
}

interface Flags {
  /** By flag, with its dashes. */
  values: ReadonlyMap<string, string>;
  problems: string[];
}

/** Parses `--flag VALUE` and `--flag=VALUE`. A value may begin with a dash, since passwords and tokens can. */
function parseFlags(argv: readonly string[]): Flags {
  const values = new Map<string, string>();
  const problems: string[] = [];
  let index = 0;
  for (; index < argv.length && argv[index] !== '--'; index++) {
    const argument = argv[index] ?? '';
    if (!isFlag(argument)) {
      problems.push(argumentProblem(argv, index));
      index += valuesAfterUnknown(argv, index);
      continue;
    }
    const flag = withoutValue(argument);
    const value = flag === argument ? argv[++index] : argument.slice(flag.length + 1);
    const problem = valueProblem(flag, value, values);
    if (problem === null) values.set(flag, value ?? '');
    else problems.push(problem);
  }
  for (index++; index < argv.length; index++) problems.push(strayArgument(argv, index));
  return { values, problems };
}

/** Returns 1 if the next argument is probably the value of this unknown flag, so that it is no second mistake; else 0. */
function valuesAfterUnknown(argv: readonly string[], index: number): number {
  const [argument = '', next = '-'] = argv.slice(index, index + 2);
  return /^-[^=]+$/.test(argument) && !next.startsWith('-') ? 1 : 0;
}

function valueProblem(flag: string, value: string | undefined, earlier: Flags['values']): string | null {
  if (value === undefined) return `${flag} needs a value`;
  return earlier.has(flag) ? `${flag} is given twice` : null;
}

function argumentProblem(argv: readonly string[], index: number): string {
  const argument = argv[index] ?? '';
  return /^-./.test(argument) ? unknownFlag(argument) : strayArgument(argv, index);
}

/** Shows only the first letter after a single dash, unless the rest resembles a flag: it can be a secret (`-pSECRET`). */
function unknownFlag(argument: string): string {
  const closest = closestName(argument, FLAGS);
  const isShort = closest === null && !argument.startsWith('--');
  const shown = isShort ? argument.slice(0, 2) : withoutValue(argument);
  return `${shown} is not a flag; ${closest === null ? '--help lists them' : `did you mean --${closest}?`}`;
}

/** Names an argument by its position if it follows a flag, since it can then be (part of) a secret. */
function strayArgument(argv: readonly string[], index: number): string {
  const isAfterFlag = argv.slice(0, index).some((argument) => argument.startsWith('-'));
  const shown = isAfterFlag ? `argument ${index + 1}` : `"${withoutValue(argv[index] ?? '')}"`;
  return `${shown} is not expected here; settings are given as --flag VALUE`;
}

/** The text of a setting. */
interface Given {
  text: string;
  /** The flag, variable or file that it comes from, as shown in problems. */
  source: string;
}

function givenText(name: string, flags: Flags['values'], env: Env): Given | null {
  const flag = `--${flagOf(name)}`;
  const value = flags.get(flag);
  if (value !== undefined) return { text: value, source: flag };
  const variable = env[name];
  return variable === undefined || variable === '' ? null : { text: variable, source: name };
}

interface Reading {
  value: unknown;
  isGiven: boolean;
  problem: string | null;
}

function readSetting(name: SettingName, find: (name: string) => Given | null, readFile: ReadFile): Reading {
  const setting: Setting<unknown> = SETTINGS[name];
  const { fallback } = setting;
  const wrong = (problem: string): Reading => ({ value: fallback, isGiven: true, problem });
  const direct = find(name);
  const file = find(fileVariableOf(name) ?? '');
  if (direct !== null && file !== null)
    return wrong(`${direct.source} and ${file.source} are both set; keep one`);
  // If NAME_FILE is itself a setting (GIT_TOKEN_FILE), its file is read where it is used.
  const isReadHere = file !== null && !Object.hasOwn(SETTINGS, fileVariableOf(name) ?? '');
  const given = isReadHere ? readSecret(file, readFile) : direct;
  if (given === null) return { value: fallback, isGiven: false, problem: null };
  if ('problem' in given) return wrong(given.problem);
  const parsed = setting.type.safeParse(given.text);
  if (parsed.success) return { value: parsed.data, isGiven: true, problem: null };
  const shown = setting.isSecret
    ? ''
    : `, not ${JSON.stringify(withoutCredentials(given.text).slice(0, 100))}`;
  return wrong(`${given.source} ${parsed.error.issues[0]?.message}${shown}`);
}

/** Reads a secret from a file, without a byte order mark and the last line break, which editors add. */
function readSecret({ text: path, source }: Given, readFile: ReadFile): Given | { problem: string } {
  try {
    return { text: readFile(path).replace(/^\ufeff|\r?\n$/g, ''), source: `the file of ${source}` };
  } catch (error) {
    return { problem: `${source} names a file that cannot be read: ${messageOf(error)}` };
  }
}

/** Masks the credentials in an address, which can also be in its query. */
function withoutCredentials(text: string): string {
  return text.replace(/^([a-z+]*:?\/\/)[^/]*@/i, '$1***@').replace(/^([a-z+]*:?\/\/[^?]*\?).*$/is, '$1***');
}

/** Checks the rules that concern more than one setting. */
function combinationProblems(
  givenNames: ReadonlySet<SettingName>,
  config: Readonly<Partial<Record<SettingName, unknown>>>,
): string[] {
  const problems: string[] = [];
  for (const account of ['BASIC', 'DEVICE'] as const) {
    const [user, password] = [`${account}_AUTH_USER`, `${account}_AUTH_PASSWORD`] as const;
    if (givenNames.has(user) !== givenNames.has(password))
      problems.push(`${user} and ${password} belong together; set both or neither`);
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
