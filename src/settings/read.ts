import { messageOf } from '../errors.ts';
import { closestName } from '../suggest.ts';
import type { Setting, SettingTable } from './setting.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** Reads a file as text; throws an error that says why it cannot. */
export type ReadFile = (path: string) => string;

/** Where the texts of settings come from. */
export interface SettingSources {
  env: Env;
  argv: readonly string[];
  readFile: ReadFile;
  /** Texts of settings that are not given under their own names, with the names that problems show. */
  standIns?: Readonly<Record<string, Given>>;
}

/** The values of a table of settings, the names of those that were given, and all problems, each a sentence. */
export interface SettingsReading {
  values: Record<string, unknown>;
  givenNames: ReadonlySet<string>;
  problems: string[];
}

/**
 * Reads the settings of a table from flags and the environment; flags win. An empty variable counts as unset. A secret
 * can be read from the file whose path `NAME_FILE` gives. A setting with a problem has its default. Pure: the result
 * depends on the arguments alone.
 */
export function readSettings(
  table: SettingTable,
  { env, argv, readFile, standIns = {} }: SettingSources,
): SettingsReading {
  const flags = parseFlags(argv, flagsOf(table));
  const problems = [...flags.problems];
  const givenNames = new Set<string>();
  const values: Record<string, unknown> = {};
  const find = (name: string): Given | null => givenText(name, flags.values, env);
  for (const name of Object.keys(table)) {
    const reading = readSetting(table, name, { find, readFile, standIn: standIns[name] });
    if (reading.problem !== null) problems.push(reading.problem);
    if (reading.isGiven) givenNames.add(name);
    values[name] = reading.value;
  }
  return { values, givenNames, problems };
}

/** Returns the name of a setting's flag: `git-poll-interval` for `GIT_POLL_INTERVAL`. */
export function flagOf(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

/**
 * Returns the name of the variable that gives a secret by the path of a file, as container platforms provide secrets:
 * `GIT_TOKEN_FILE` for `GIT_TOKEN`. Returns null if the setting is not a secret.
 */
export function fileVariableOf(table: SettingTable, name: string): string | null {
  return settingIn(table, name).isSecret === true ? `${name}_FILE` : null;
}

/** Returns the flags of a table of settings, without dashes. */
export function flagsOf(table: SettingTable): string[] {
  const names = Object.keys(table).flatMap((name) => [name, fileVariableOf(table, name) ?? name]);
  return [...new Set(names.map(flagOf))];
}

/** Reports whether an argument is one of these flags, with or without a value after `=`. */
export function isFlagAmong(flags: readonly string[], argument: string): boolean {
  return argument.startsWith('--') && flags.includes(withoutValue(argument).slice(2));
}

/** Returns an argument without the value after `=`, which can be a secret. */
export function withoutValue(argument: string): string {
  return argument.replace(/=.*$/s, '');
}

/** Returns a problem if only one part of an account is given. */
export function accountProblem(account: string, givenNames: ReadonlySet<string>): string | null {
  const [user, password] = [`${account}_USER`, `${account}_PASSWORD`];
  const isHalf = givenNames.has(user) !== givenNames.has(password);
  return isHalf ? `${user} and ${password} belong together; set both or neither` : null;
}

function settingIn(table: SettingTable, name: string): Setting<unknown> {
  const setting = table[name];
  if (setting === undefined) throw new Error(`there is no setting ${name}`);
  return setting;
}

interface Flags {
  /** By flag, with its dashes. */
  values: ReadonlyMap<string, string>;
  problems: string[];
}

/** Parses `--flag VALUE` and `--flag=VALUE`. A value may begin with a dash, since passwords and tokens can. */
function parseFlags(argv: readonly string[], known: readonly string[]): Flags {
  const values = new Map<string, string>();
  const problems: string[] = [];
  let index = 0;
  for (; index < argv.length && argv[index] !== '--'; index++) {
    const argument = argv[index] ?? '';
    if (!isFlagAmong(known, argument)) {
      problems.push(argumentProblem(argv, index, known));
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

function argumentProblem(argv: readonly string[], index: number, known: readonly string[]): string {
  const argument = argv[index] ?? '';
  return /^-./.test(argument) ? unknownFlag(argument, known) : strayArgument(argv, index);
}

/** Shows only the first letter after a single dash, unless the rest resembles a flag: it can be a secret (`-pSECRET`). */
function unknownFlag(argument: string, known: readonly string[]): string {
  const closest = closestName(argument, known);
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
export interface Given {
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

interface Finding {
  find(name: string): Given | null;
  readFile: ReadFile;
  standIn: Given | undefined;
}

function readSetting(table: SettingTable, name: string, finding: Finding): Reading {
  const setting = settingIn(table, name);
  const { fallback, type, isSecret } = setting;
  const wrong = (problem: string): Reading => ({ value: fallback, isGiven: true, problem });
  const given = findSetting(table, name, finding);
  if (given === null) {
    const problem =
      setting.isRequired === true ? `set ${name} (or --${flagOf(name)}): ${setting.meaning}` : null;
    return { value: fallback, isGiven: false, problem };
  }
  if ('problem' in given) return wrong(given.problem);
  const parsed = type.safeParse(given.text);
  if (parsed.success) return { value: parsed.data, isGiven: true, problem: null };
  const shown =
    isSecret === true ? '' : `, not ${JSON.stringify(withoutCredentials(given.text).slice(0, 100))}`;
  return wrong(`${given.source} ${parsed.error.issues[0]?.message}${shown}`);
}

/** Returns the text of a setting, or the problem that keeps it from being read; null if it is not given. */
function findSetting(
  table: SettingTable,
  name: string,
  { find, readFile, standIn }: Finding,
): Given | { problem: string } | null {
  const fileVariable = fileVariableOf(table, name) ?? '';
  const [direct, file] = [find(name), find(fileVariable)];
  if (direct !== null && file !== null)
    return { problem: `${direct.source} and ${file.source} are both set; keep one` };
  if (file === null) return direct ?? standIn ?? null;
  // If NAME_FILE is itself a setting (GIT_TOKEN_FILE), its file is read where it is used.
  return Object.hasOwn(table, fileVariable) ? null : readSecret(file, readFile);
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
