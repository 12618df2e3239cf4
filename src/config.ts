import { parseArgs } from 'node:util';
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
  const given = new Set<SettingName>();
  const config: Record<string, unknown> = {};
  for (const name of SETTING_NAMES) {
    const reading = readSetting(name, (key) => givenText(key, flags.values, env), readFile);
    if (reading.problem !== null) problems.push(reading.problem);
    if (reading.isGiven) given.add(name);
    config[name] = reading.value;
  }
  problems.push(...combinationProblems(given, config));
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

const FLAGS = Object.fromEntries(
  SETTING_NAMES.flatMap((name) => [name, fileVariableOf(name) ?? name]).map((name) => [
    flagOf(name),
    { type: 'string' as const },
  ]),
);

interface Flags {
  values: ReadonlyMap<string, string>;
  problems: string[];
}

function parseFlags(argv: readonly string[]): Flags {
  const parsed = parseArgs({
    args: [...argv],
    options: FLAGS,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  // `-port=1` becomes one token for each letter; only the first is reported.
  const tokens = parsed.tokens.filter(({ index }, position, all) => all[position - 1]?.index !== index);
  const values = new Map<string, string>();
  const problems: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') problems.push(strayArgument(argv, token.index));
    if (token.kind !== 'option') continue;
    const problem = flagProblem(token, argv[token.index] ?? '', values);
    if (problem !== null) problems.push(problem);
    else values.set(token.name, token.value ?? '');
  }
  return { values, problems };
}

interface FlagToken {
  name: string;
  rawName: string;
  value?: string | undefined;
}

function flagProblem(
  { name, rawName, value }: FlagToken,
  argument: string,
  earlier: Flags['values'],
): string | null {
  if (!Object.hasOwn(FLAGS, name)) {
    const closest = closestName(argument, Object.keys(FLAGS));
    return `${rawName} is not a flag; ${closest === null ? '--help lists them' : `did you mean --${closest}?`}`;
  }
  if (value === undefined) return `${rawName} needs a value`;
  return earlier.has(name) ? `${rawName} is given twice` : null;
}

/** Names an argument by its position if it follows a flag, since it can then be (part of) a secret. */
function strayArgument(argv: readonly string[], index: number): string {
  const isAfterFlag = argv.slice(0, index).some((argument) => argument.startsWith('-'));
  const shown = isAfterFlag ? `argument ${index + 1}` : `"${argv[index]}"`;
  return `${shown} is not expected here; settings are given as --flag VALUE`;
}

/** The text of a setting. */
interface Given {
  text: string;
  /** The flag, variable or file that it comes from, as shown in problems. */
  place: string;
}

function givenText(name: string, flags: Flags['values'], env: Env): Given | null {
  const flag = flags.get(flagOf(name));
  if (flag !== undefined) return { text: flag, place: `--${flagOf(name)}` };
  const variable = env[name];
  return variable === undefined || variable === '' ? null : { text: variable, place: name };
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
    return wrong(`${direct.place} and ${file.place} are both set; keep one`);
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
  return wrong(`${given.place} ${parsed.error.issues[0]?.message}${shown}`);
}

/** Reads a secret from a file, without a byte order mark and the last line break, which editors add. */
function readSecret({ text: path, place }: Given, readFile: ReadFile): Given | { problem: string } {
  try {
    return { text: readFile(path).replace(/^\ufeff|\r?\n$/g, ''), place: `the file of ${place}` };
  } catch (error) {
    return { problem: `${place} names a file that cannot be read: ${messageOf(error)}` };
  }
}

/** Masks the credentials in an address. */
function withoutCredentials(text: string): string {
  return text.replace(/^([a-z+]*:?\/\/)[^/]*@/i, '$1***@');
}

/** Checks the rules that concern more than one setting. */
function combinationProblems(given: ReadonlySet<SettingName>, config: Record<string, unknown>): string[] {
  const problems: string[] = [];
  for (const account of ['BASIC', 'DEVICE'] as const) {
    const [user, password] = [`${account}_AUTH_USER`, `${account}_AUTH_PASSWORD`] as const;
    if (given.has(user) !== given.has(password))
      problems.push(`${user} and ${password} belong together; set both or neither`);
  }
  if (given.has('GIT_REMOTE') && !isPathInside(String(config['DESIRED_STATE'])))
    problems.push('DESIRED_STATE must be a path inside the repository when GIT_REMOTE is set');
  return problems;
}

function isPathInside(path: string): boolean {
  return !path.startsWith('/') && !path.split('/').includes('..') && !/\p{Cc}/u.test(path);
}
