import { parseArgs } from 'node:util';
import { type Config, SETTINGS, type Setting, type SettingName } from './settings.ts';

/** Either every setting, or every problem of the settings, each a sentence that names its place. */
export type ConfigResult = { ok: true; config: Config } | { ok: false; problems: string[] };

type Env = Readonly<Record<string, string | undefined>>;

/** `GIT_POLL_INTERVAL` to `git-poll-interval`. */
export function flagOf(name: SettingName): string {
  return name.toLowerCase().replaceAll('_', '-');
}

/**
 * Reads all settings from the environment and the flags of `serve`; flags win. Pure: nothing but its arguments is
 * looked at. An empty variable counts as unset. Reports every problem at once.
 */
export function parseConfig(env: Env, argv: readonly string[]): ConfigResult {
  const flags = parseFlags(argv);
  const problems = [...flags.problems];
  const given = new Set<SettingName>();
  const config: Record<string, unknown> = {};
  for (const name of NAMES) {
    const reading = readSetting(name, flags.values.get(flagOf(name)), env[name]);
    if (reading.problem !== null) problems.push(reading.problem);
    if (reading.isGiven) given.add(name);
    config[name] = reading.value;
  }
  problems.push(...problemsBetween(given, config));
  return problems.length > 0 ? { ok: false, problems } : { ok: true, config: config as unknown as Config };
}

const NAMES = Object.keys(SETTINGS) as SettingName[];

const FLAGS = Object.fromEntries(NAMES.map((name) => [flagOf(name), { type: 'string' as const }]));

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
  if (!Object.hasOwn(FLAGS, name)) return `${rawName} is no flag; --help lists them`;
  if (value === undefined) return `${rawName} needs a value`;
  return before.has(name) ? `${rawName} is given twice` : null;
}

/** Says which argument it is instead of showing it where it can be (a part of) a secret. */
function strayArgument(argv: readonly string[], index: number): string {
  const isAfterFlag = argv.slice(0, index).some((argument) => argument.startsWith('-'));
  const shown = isAfterFlag ? `argument ${index + 1}` : `"${argv[index]}"`;
  return `${shown} is not expected here; settings are given as --flag VALUE`;
}

interface Reading {
  value: unknown;
  isGiven: boolean;
  problem: string | null;
}

function readSetting(name: SettingName, flag: string | undefined, variable: string | undefined): Reading {
  const setting: Setting<unknown> = SETTINGS[name];
  const text = flag ?? (variable === '' ? undefined : variable);
  if (text === undefined) return { value: setting.fallback, isGiven: false, problem: null };
  const parsed = setting.type.safeParse(text);
  if (parsed.success) return { value: parsed.data, isGiven: true, problem: null };
  const place = flag === undefined ? name : `--${flagOf(name)}`;
  const shown = setting.isSecret ? '' : `, not ${JSON.stringify(withoutCredentials(text).slice(0, 100))}`;
  const problem = `${place} ${parsed.error.issues[0]?.message}${shown}`;
  return { value: setting.fallback, isGiven: true, problem };
}

/** An address is shown without the part where credentials stand. */
function withoutCredentials(text: string): string {
  return text.replace(/^([a-z+]*:?\/\/)[^/]*@/i, '$1***@');
}

/** What only holds of several settings together. */
function problemsBetween(given: ReadonlySet<SettingName>, config: Record<string, unknown>): string[] {
  const problems: string[] = [];
  if (given.has('BASIC_AUTH_USER') !== given.has('BASIC_AUTH_PASSWORD'))
    problems.push('BASIC_AUTH_USER and BASIC_AUTH_PASSWORD belong together; set both, or none');
  if (given.has('GIT_REMOTE') && !isPathInside(String(config['DESIRED_STATE'])))
    problems.push('DESIRED_STATE must be a path inside the repository when GIT_REMOTE is set');
  return problems;
}

function isPathInside(path: string): boolean {
  return !path.startsWith('/') && !path.split('/').includes('..') && !/\p{Cc}/u.test(path);
}
