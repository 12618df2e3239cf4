import * as z from 'zod';
import { NAME_PATTERN } from '../protocol/name.ts';
import { accountProblem, type Env, type ReadFile, readSettings } from '../settings/read.ts';
import {
  AbsolutePath,
  Flag,
  LogLevel,
  list,
  optional,
  required,
  secret,
  secretsOf,
  setting,
  Text,
  UserName,
  type ValuesOf,
  wholeNumber,
} from '../settings/setting.ts';
import { nebulaNames } from './settings/nebula-names.ts';

const DAY = 86_400;

/** The address of the manager, without a slash at its end. */
const ManagerUrl = z
  .string()
  .regex(/^https?:\/\/[^\s/?#][^\s?#]*$/, 'must be an http:// or https:// address without a query')
  .refine(URL.canParse, 'must be an http:// or https:// address')
  .refine(
    (text) => !/^[^/]*\/\/[^/]*@/.test(text),
    'must not contain credentials; put them in DEVICE_AUTH_USER and DEVICE_AUTH_PASSWORD',
  )
  .transform((text) => text.replace(/(?<!\/)\/+$/, ''));
/** Path of a unix socket. */
const Socket = z
  .string()
  .transform((text) => text.replace(/^unix:\/\//, ''))
  .pipe(z.string().regex(/^\/[^\p{Cc}]+$/u, 'must be the path of a socket, or unix:// and its path'));
const NAME_RULE =
  'must be a name of at most 128 letters, digits, ".", "_" and "-" that begins with a letter or digit';
/** A name of a device group or a device. */
const ObjectName = z.string().regex(NAME_PATTERN, NAME_RULE);
const FOLDER = /^(?!.*\/\.{1,2}(\/|$))\/[^\p{Cc}:]*$/u;
/** Folders without a slash at their ends; none for `none`. */
const Folders = z
  .string()
  .transform((text) => (text === 'none' ? [] : text.split(',').map((path) => path.trim())))
  .refine(
    (paths) => paths.every((path) => FOLDER.test(path)),
    'must be absolute paths without ".." separated by commas, or none',
  )
  .transform((paths) => paths.map((path) => path.replace(/(?<!\/)\/+$/, '') || '/'));

/** Every setting of the worker, in the order of the help text. Times are in seconds. */
export const WORKER_SETTINGS = {
  MANAGER: required(ManagerUrl, 'address of the manager, such as https://fleet.example'),
  DEVICE_GROUP: required(ObjectName, 'device group whose apps this device runs'),
  DEVICE_AUTH_USER: optional(UserName, 'user name of the account of devices'),
  DEVICE_AUTH_PASSWORD: secret('password of the account of devices'),
  DEVICE_NAME: optional(
    ObjectName,
    'name of this device for the manager; if unset, the host name that the container engine reports, with .WORKER if that is not main',
  ),
  MANAGER_CA_FILE: optional(
    AbsolutePath,
    'path of a file with the CA certificates to trust for an https manager',
  ),
  ENGINE: optional(
    Socket,
    'socket of the container engine; if unset, that of DOCKER_HOST, else /var/run/docker.sock',
  ),
  DOCKER_CONFIG: optional(
    Text,
    "folder of Docker's config.json with credentials for registries, read at each pull; if unset, ~/.docker",
  ),
  REGISTRY_HOST: setting(
    Text,
    'https://index.docker.io/v1/',
    'registry that REGISTRY_AUTH_USER and REGISTRY_AUTH_PASSWORD are for',
  ),
  REGISTRY_AUTH_USER: optional(UserName, 'user name for that registry; it wins over config.json'),
  REGISTRY_AUTH_PASSWORD: secret('password for that registry'),
  DATA_DIR: setting(Text, './data', 'folder of worker.json and worker.sock; the example image sets /data'),
  ORCHESTRATOR_MANAGER_CHECK_IN_TIME: setting(
    wholeNumber(1, DAY),
    10,
    'seconds between polls of the manager and between looks at the containers',
  ),
  REQUEST_TIMEOUT: setting(wholeNumber(1, 3600), 30, 'time limit of a request to the manager, in seconds'),
  REPORT_INTERVAL: setting(
    wholeNumber(1, DAY),
    300,
    'seconds between reports to the manager; a change is reported at once',
  ),
  UPDATE_SPREAD: setting(
    wholeNumber(0, DAY),
    0,
    'delay each pull by a random time up to this many seconds, so that a fleet does not pull at once',
  ),
  HEALTH_WAIT: setting(
    wholeNumber(1, DAY),
    120,
    'seconds within which a new version with a health check has to become healthy',
  ),
  STOP_TIMEOUT: setting(
    wholeNumber(1, 3600),
    10,
    'seconds that a container has to stop before it is killed, unless its app says so',
  ),
  ROLLBACK: setting(Flag, true, 'false leaves a new version that fails in place instead of taking it back'),
  ON_GROUP_GONE: setting(
    z.enum(['stop', 'keep'], { error: 'must be stop or keep' }),
    'stop',
    'stop or keep: what happens to all containers once the manager has said twice that the device group does not exist',
  ),
  HEALTH_NEEDS_MANAGER: setting(
    Flag,
    true,
    'false leaves worker status at 0, and so the container healthy, while the manager refuses this device or does not answer',
  ),
  DISK_HIGH: setting(
    wholeNumber(1, 100),
    85,
    'disk use in percent above which pulls stop and unused images that this worker pulled are removed',
  ),
  ALLOW_LOGS: setting(Flag, true, 'false refuses to send logs of containers to people who ask for them'),
  MAX_CONTAINERS: setting(wholeNumber(1, 10_000), 100, 'greatest number of containers of one app'),
  ALLOW_PRIVILEGED: setting(
    Flag,
    true,
    'false refuses privileged apps, and settings that are equivalent to that',
  ),
  ALLOW_MOUNTS: optional(
    Folders,
    'folders of this device that apps may mount, separated by commas, or none; if unset, all. Named volumes are always allowed',
  ),
  ALLOW_IMAGES: optional(
    list(/^\S+$/, 'must be image prefixes separated by commas'),
    'allowed image prefixes, such as ghcr.io/acme/, separated by commas; if unset, all',
  ),
  TAKE_OVER_NEBULA: setting(
    z.enum(['wanted', 'all'], { error: 'must be wanted or all' }),
    'wanted',
    "wanted replaces the containers of Nebula's worker whose app the device group has; all also removes the others",
  ),
  METRICS_PORT: optional(wholeNumber(0, 65_535), 'port of GET /metrics for Prometheus; if unset, it is off'),
  METRICS_HOST: setting(Text, '127.0.0.1', 'address of that port'),
  WORKER: setting(
    ObjectName,
    'main',
    'tells the workers on one engine apart; containers of workers other than main are named WORKER.APP-1',
  ),
  LOG_LEVEL: setting(
    LogLevel,
    'info',
    'lowest level to log: fatal, error, warn, info, debug or trace; silent logs nothing',
  ),
} as const;

export type WorkerConfig = ValuesOf<typeof WORKER_SETTINGS>;

/** The names of the settings whose values are never shown. */
export const WORKER_SECRETS = secretsOf(WORKER_SETTINGS);

export type WorkerConfigResult = { ok: true; config: WorkerConfig } | { ok: false; problems: string[] };

/**
 * Reads all settings of the worker from the environment and its flags, or reports every problem at once, each as a
 * sentence. What is not given under its own name is taken from the names that Nebula's worker has for it.
 */
export function parseWorkerConfig(env: Env, argv: readonly string[], readFile: ReadFile): WorkerConfigResult {
  const { values, givenNames, problems } = readSettings(WORKER_SETTINGS, {
    env,
    argv,
    readFile,
    standIns: nebulaNames(env),
  });
  for (const account of ['DEVICE_AUTH', 'REGISTRY_AUTH']) {
    const problem = accountProblem(account, givenNames);
    if (problem !== null) problems.push(problem);
  }
  return problems.length > 0
    ? { ok: false, problems }
    : { ok: true, config: values as unknown as WorkerConfig };
}

/** The settings of the commands that talk to a running worker. */
export const LOCAL_SETTINGS = { DATA_DIR: WORKER_SETTINGS.DATA_DIR } as const;
