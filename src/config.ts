import { parseArgs } from 'node:util';
import { messageOf } from './errors.ts';
import { type Config, SETTINGS, type Setting, type SettingName } from './settings.ts';

/** Either every setting, or every problem of the settings, each a sentence that names its place. */
export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: string[] };

type Env = Readonly<Record<string, string | undefined>>;

/** Reads a file as text; throws, with why it cannot. */
type ReadFile = (path: string) => string;

function noFile(): never {
  throw new Error('no files are read here');
}

/** `GIT_POLL_INTERVAL` to `git-poll-interval`. */
export function flagOf(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

/**
 * Reads all settings from the environment and the flags of `serve`; flags win. Pure: nothing but its arguments is
 * looked at. An empty variable counts as unset, and a secret can stand in a file that `NAME_FILE` names. Reports every
 * problem at once.
 */
export function parseConfig(env: Env, argv: readonly string[], readFile: ReadFile = noFile): ConfigResult {
  const flags = parseFlags(argv);
  const problems = [...flags.problems];
  const given = new Set<SettingName>();
  const config: Record<string, unknown> = {};
  for (const name of NAMES) {
    const reading = readSetting(name, (one) => givenAs(one, flags.values, env), readFile);
    if (reading.problem !== null) problems.push(reading.problem);
    if (reading.isGiven) given.add(name);
    config[name] = reading.value;
  }
  problems.push(...problemsBetween(given, config));
  return problems.length > 0 ? { ok: false, problems } : { ok: true, config: config as unknown as Config };
}

const NAMES = Object.keys(SETTINGS) as SettingName[];

/**
 * The name under which a secret is given by the path of a file, as container platforms hand them out; null for other
 * settings.
 */
export function fileOf(name: SettingName): string | null {
  const { isSecret }: Setting<unknown> = SETTINGS[name];
  return isSecret === true ? `${name}_FILE` : null;
}

const FLAGS = Object.fromEntries(
  NAMES.flatMap((name) => [name, fileOf(name) ?? name]).map((name) => [
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
  // `-port=1` is a token for each letter; the first one tells enough.
  const tokens = parsed.tokens.filter(({ index }, position, all) => all[position - 1]?.index !== index);
  const values = new Map<string, string>();
  const problems: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') problems.push(strayArgument(argv, token.index));
    if (token.kind !== 'option') continue;
    const problem = flagProblem(token, values);
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

function flagProblem({ name, rawName, value }: FlagToken, before: Flags['values']): string | null {
  if (!Object.hasOwn(FLAGS, name)) return `${rawName} is not a flag; --help lists them`;
  if (value === undefined) return `${rawName} needs a value`;
  return before.has(name) ? `${rawName} is given twice` : null;
}

/** Says which argument it is instead of showing it where it can be (a part of) a secret. */
function strayArgument(argv: readonly string[], index: number): string {
  const isAfterFlag = argv.slice(0, index).some((argument) => argument.startsWith('-'));
  const shown = isAfterFlag ? `argument ${index + 1}` : `"${argv[index]}"`;
  return `${shown} is not expected here; settings are given as --flag VALUE`;
}

/** A text that was given, and where. */
interface Given {
  text: string;
  place: string;
}

function givenAs(name: string, flags: Flags['values'], env: Env): Given | null {
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
  const itself = find(name);
  const file = find(fileOf(name) ?? '');
  if (itself !== null && file !== null)
    return wrong(`${itself.place} and ${file.place} are both set; keep one`);
  // A file with a setting of its own is read by whoever uses it.
  const isRead = file !== null && !Object.hasOwn(SETTINGS, fileOf(name) ?? '');
  const given = isRead ? readSecret(file, readFile) : itself;
  if (given === null) return { value: fallback, isGiven: false, problem: null };
  if ('problem' in given) return wrong(given.problem);
  const parsed = setting.type.safeParse(given.text);
  if (parsed.success) return { value: parsed.data, isGiven: true, problem: null };
  const shown = setting.isSecret
    ? ''
    : `, not ${JSON.stringify(withoutCredentials(given.text).slice(0, 100))}`;
  return wrong(`${given.place} ${parsed.error.issues[0]?.message}${shown}`);
}

/** What the file says, but for the mark at its beginning and the end of its last line, which editors add. */
function readSecret({ text: path, place }: Given, readFile: ReadFile): Given | { problem: string } {
  try {
    return { text: readFile(path).replace(/^\ufeff|\r?\n$/g, ''), place: `the file of ${place}` };
  } catch (error) {
    return { problem: `${place} names a file that cannot be read: ${messageOf(error)}` };
  }
}

/** An address is shown without the part where credentials stand. */
function withoutCredentials(text: string): string {
  return text.replace(/^([a-z+]*:?\/\/)[^/]*@/i, '$1***@');
}

/** What only holds of several settings together. */
function problemsBetween(given: ReadonlySet<SettingName>, config: Record<string, unknown>): string[] {
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
