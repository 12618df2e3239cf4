import * as z from 'zod';
import {
  AbsolutePath,
  Flag,
  LogLevel,
  list,
  optional,
  secret,
  secretsOf,
  setting,
  shownValues,
  Text,
  UserName,
  wholeNumber,
} from './setting.ts';

const Email = z.string().regex(/^[^\s<>@]+@[^\s<>@]+$/, 'must be an e-mail address');
const Remote = z
  .string()
  .regex(
    /^((https:\/\/[^\s/]|ssh:\/\/[^\s/-]|[A-Za-z0-9_.][\w.-]*@[A-Za-z0-9][\w.-]*:)[^\p{Cc}\s]*|\.{0,2}\/[^\p{Cc}]*)$/u,
    'must be https://…, ssh://…, user@host:path or a path that begins with /, ./ or ../',
  )
  .refine(
    (text) => !/^https:\/\/[^/]*@/i.test(text) && !/^ssh:\/\/[^/@:]*:[^/@]*@/i.test(text),
    'must not contain credentials; put them in GIT_USERNAME and GIT_TOKEN',
  )
  .refine(
    (text) => !/^(https|ssh):\/\/[^?]*\?/i.test(text),
    'must not have a query ("?..."); put a token in GIT_TOKEN',
  );
const MongoUri = z
  .string()
  .regex(/^mongodb(\+srv)?:\/\/[^/]/, 'must be a mongodb:// or mongodb+srv:// address');
/** A branch name that git accepts (see git-check-ref-format), but not the full name of a ref. */
const BRANCH =
  /^(?!refs\/|.*(?:\.\.|\/\/|@\{|\.lock(?:\/|$)|\/\.))[^\s~^:?*[\\\p{Cc}./][^\s~^:?*[\\\p{Cc}]*(?<![./])$/u;
/** The short name of a branch. `refs/heads/` before it is dropped, since nobody means `refs/heads/refs/heads/main`. */
const Branch = z
  .string()
  .transform((text) => text.replace(/^refs\/heads\//, ''))
  .pipe(Text.regex(BRANCH, 'must be the name of a branch, such as main'));
/** The names that MongoDB allows on every platform. */
const DatabaseName = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,63}$/, 'must be 1 to 63 letters, digits, "_" and "-"');
const Networks = list(/./, 'must be names separated by commas');
const KeptReports = z.enum(['all', 'changes', 'latest'], { error: 'must be all, changes or latest' });
const Limit = z
  .string()
  .regex(/^(?:(?:100|\d{1,2})%|\d{1,7})$/, 'must be a share such as 5%, or a whole number');
const FleetName = z.string().regex(/^[^\p{Cc}]{1,64}$/u, 'must be 1 to 64 characters');
const HostNames = list(/^[\w-]+(\.[\w-]+)*$/, 'must be host names without ports, separated by commas');

/** Every setting (docs/contract.md, 12.1), in the order of the help text. */
export const SETTINGS = {
  HOST: setting(Text, '127.0.0.1', 'address to listen on'),
  PORT: setting(
    wholeNumber(0, 65535),
    8080,
    'port to listen on; 0 picks a free one, written to the log (LOG_LEVEL info) and to DATA_DIR/manager.json',
  ),
  DESIRED_STATE: setting(
    Text,
    './desired-state',
    'folder of the desired state, in a git work tree on this machine',
  ),
  GIT_REMOTE: optional(
    Remote,
    'remote repository to follow instead: https or ssh address, or path of a (bare) repository; DESIRED_STATE is then a path inside it',
  ),
  GIT_BRANCH: optional(
    Branch,
    'branch to follow; if unset, the one that is checked out, so that a git switch there rolls out at once (main for a remote)',
  ),
  GIT_USERNAME: optional(UserName, 'user name for an https remote; most forges accept any'),
  GIT_TOKEN: secret('password or access token for an https remote'),
  GIT_TOKEN_FILE: optional(
    AbsolutePath,
    'path of a file with that token instead, read at each fetch and push, so that an expiring token can be renewed',
  ),
  GIT_SSH_KEY: optional(AbsolutePath, 'path of the private key for an ssh remote'),
  GIT_KNOWN_HOSTS: optional(AbsolutePath, 'path of a known_hosts file for an ssh remote'),
  GIT_CA_FILE: optional(AbsolutePath, 'path of a file with the CA certificates to trust for an https remote'),
  GIT_TIMEOUT: setting(wholeNumber(1, 3600), 20, 'time limit of a fetch or push, in seconds'),
  GIT_POLL_INTERVAL: setting(
    wholeNumber(0, 86_400),
    30,
    'seconds between checks of the repository; 0 turns polling off',
  ),
  DATA_DIR: setting(
    Text,
    './data',
    "folder for the manager's own data: store, mirror of GIT_REMOTE, hash of a generated password",
  ),
  MONGODB_URI: secret(
    'MongoDB for the store, which several managers can share; if unset, the store is a SQLite file in DATA_DIR',
    MongoUri,
  ),
  MONGODB_DATABASE: setting(DatabaseName, 'holdfast', 'MongoDB database of the store'),
  CACHE_TIME: setting(
    wholeNumber(0, 86_400),
    10,
    'maximum age of a response to /info, in seconds; 0 turns the cache off',
  ),
  REPORT_TTL: setting(wholeNumber(1, 315_360_000), 604_800, 'seconds to keep reports'),
  REPORTS_MAX_BYTES: setting(
    wholeNumber(1_048_576, 999_999_999_999_999),
    1_073_741_824,
    'maximum size of all reports together, in bytes; the oldest are deleted for new ones',
  ),
  REPORTS: setting(
    KeptReports,
    'all',
    'which reports of workers that say their version are kept: all; changes, whose apps, ids or problems differ from those before; latest, only the last one of each device',
  ),
  DEVICE_SILENT_AFTER: setting(
    wholeNumber(10, 86_400),
    600,
    'seconds without a poll or a report after which a device is silent',
  ),
  DEVICE_TTL: setting(
    wholeNumber(60, 315_360_000),
    604_800,
    'seconds without a poll or a report after which a device is forgotten',
  ),
  DEVICES_MAX: setting(
    wholeNumber(1, 10_000_000),
    100_000,
    'number of devices that are remembered; those that were heard longest ago are forgotten for new names',
  ),
  ALERT_FAILED: setting(
    Limit,
    '5%',
    'failed devices of a group above which that is an incident: a share of its devices, or a number',
  ),
  ALERT_SILENT: setting(
    Limit,
    '20%',
    'silent devices of a group above which that is an incident, in the same way',
  ),
  FLEET_NAME: optional(
    FleetName,
    'name of the fleet, for people; if unset, the last part of the address of the repository',
  ),
  BODY_LIMIT: setting(wholeNumber(1, 104_857_600), 1_048_576, 'maximum size of a request body, in bytes'),
  BASIC_AUTH_USER: optional(UserName, 'user name of the administrator'),
  BASIC_AUTH_PASSWORD: secret('password of the administrator; set it as a variable rather than a flag'),
  BASIC_AUTH_EMAIL: optional(Email, 'e-mail address of the administrator, for commits'),
  DEVICE_AUTH_USER: optional(
    UserName,
    'user name of a second account, for devices, which can only poll, send reports and read the status',
  ),
  DEVICE_AUTH_PASSWORD: secret('password of the device account'),
  WEBHOOK_SECRET: secret('secret of POST /webhook, as set at the forge; if unset, the webhook is off'),
  AUTH_ENABLED: setting(
    Flag,
    true,
    'false turns authentication off: anyone can do anything, at IP addresses and localhost',
  ),
  ALLOWED_HOSTS: optional(
    HostNames,
    'further host names to serve while authentication is off, separated by commas',
  ),
  DEFAULT_NETWORKS: setting(
    Networks,
    ['nebula', 'bridge'],
    "default of an app's networks, separated by commas",
  ),
  STRICT: setting(Flag, false, 'true refuses the whole commit if any file in it is invalid'),
  LOG_LEVEL: setting(
    LogLevel,
    'info',
    'lowest level to log: fatal, error, warn, info, debug or trace; silent logs nothing',
  ),
} as const;

export type SettingName = keyof typeof SETTINGS;

/** All settings with their values. */
export type Config = { [N in SettingName]: (typeof SETTINGS)[N]['fallback'] };

/** The names of the settings whose values are never shown. */
export const SECRET_SETTINGS = secretsOf(SETTINGS) as readonly SettingName[];

/** The secrets that let a client in, and that people choose. */
const CHOSEN_SECRETS = ['BASIC_AUTH_PASSWORD', 'DEVICE_AUTH_PASSWORD', 'WEBHOOK_SECRET'] as const;

/** Secrets with fewer characters can be guessed: nobody is locked out for guessing. */
export const SECRET_LENGTH = 16;

/** Returns the names of the secrets that have too few characters. */
export function shortSecrets(config: Config): SettingName[] {
  return CHOSEN_SECRETS.filter((name) => config[name] !== null && config[name].length < SECRET_LENGTH);
}

/** Returns the settings for the log, with secrets masked. */
export function shownSettings(config: Config): Record<string, unknown> {
  return shownValues(SETTINGS, config);
}
