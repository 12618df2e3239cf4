import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/process/clock.ts';
import { type Service, startService } from '../../src/service/service.ts';
import { parseConfig } from '../../src/settings/config.ts';
import { inDesiredState, temporaryFolder, type WhenDone } from './folder.ts';
import { type TestRepository, testRepository } from './git.ts';
import { type Reply, replyOf } from './reply.ts';

/** The administrator's account of every manager that these functions start. */
export const USER = 'operator';
export const PASSWORD = 'correct horse battery';
/** The `Authorization` header of that account. */
export const AUTHORIZATION = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;

/** The parts of a request besides method and path. */
interface RequestOptions {
  /** Sent as JSON. */
  body?: unknown;
  /** Sent byte for byte instead of `body`. */
  raw?: string | Uint8Array;
  headers?: Record<string, string>;
  /** The `Authorization` header; that of the administrator by default, and none if null. */
  authorization?: string | null;
}

/** A manager in this process: a real server on a free port, with a real repository and a real database. */
export interface TestManager {
  service: Service;
  repository: TestRepository;
  /** Its `DATA_DIR`. */
  dataFolder: string;
  /** The lines of its log so far, parsed. */
  log: Record<string, unknown>[];
  request(method: string, path: string, options?: RequestOptions): Promise<Reply>;
  get(path: string, options?: RequestOptions): Promise<Reply>;
  post(path: string, body?: unknown, options?: RequestOptions): Promise<Reply>;
  put(path: string, body?: unknown, options?: RequestOptions): Promise<Reply>;
  delete(path: string, options?: RequestOptions): Promise<Reply>;
  /** Runs a pass by `POST /api/v2/reconcile` and waits for it; resolves to the status after it. */
  reconcile(): Promise<Reply>;
  /** Stops this manager and starts another one on the same repository and data folder, with these settings changed. */
  restart(settings?: Record<string, string>): Promise<TestManager>;
  stop(): Promise<void>;
}

/** How a manager is started. */
export interface ManagerOptions {
  /** Files of a first commit, with paths below `desired-state/`; without files there is no commit. */
  files?: Readonly<Record<string, string>>;
  /** Settings by name, besides those that lead to the repository, the data folder and a free port; polling is off. */
  settings?: Readonly<Record<string, string>>;
  /** The lowest level that is logged; `trace` by default. */
  logLevel?: string;
  /** A new one by default. */
  repository?: TestRepository;
  /** A new one by default. */
  dataFolder?: string;
  /** That of this machine by default. */
  clock?: Clock;
  /** The wall clock alone, in Unix milliseconds. */
  now?: () => number;
  /** The search path for git and ssh; that of the tests by default. */
  path?: string;
  /** Stops the manager while it still starts, as a signal does. */
  stopping?: AbortSignal;
  /** Registers what stops the manager and removes its folders; by default, that happens when the test is over. */
  whenDone?: WhenDone;
}

/** The clock of this machine. */
export const REAL_CLOCK: Clock = { now: Date.now, elapsed: () => performance.now() };

/** A clock that is never set: time passes as `now` says. */
function clockOf(now: (() => number) | undefined): Clock {
  return now === undefined ? REAL_CLOCK : { now, elapsed: now };
}

/** Starts a manager, which stops when the test is over. Rejects if the settings are wrong or the start fails. */
export async function startManager(options: ManagerOptions = {}): Promise<TestManager> {
  const { whenDone = onTestFinished, clock = clockOf(options.now) } = options;
  const repository = options.repository ?? (await testRepository(whenDone));
  const { files = {} } = options;
  if (Object.keys(files).length > 0) await repository.commit(inDesiredState(files), 'the first fleet');
  const dataFolder = options.dataFolder ?? join(await temporaryFolder(whenDone), 'data');
  const log: Record<string, unknown>[] = [];
  const service = await startService(settingsOf(repository, dataFolder, options.settings), {
    clock,
    env: { PATH: options.path ?? process.env['PATH'] },
    logger: pino(
      { level: options.logLevel ?? 'trace' },
      { write: (line) => void log.push(JSON.parse(line)) },
    ),
    announce: () => undefined,
    ...(options.stopping === undefined ? {} : { stopping: options.stopping }),
  });
  let isRunning = true;
  const stop = async (): Promise<void> => {
    if (isRunning) await service.close();
    isRunning = false;
  };
  whenDone(stop);
  const request = requester(service.address);
  return {
    service,
    repository,
    dataFolder,
    log,
    request,
    get: (path, init) => request('GET', path, init),
    post: (path, body, init) => request('POST', path, { body, ...init }),
    put: (path, body, init) => request('PUT', path, { body, ...init }),
    delete: (path, init) => request('DELETE', path, init),
    reconcile: () => request('POST', '/api/v2/reconcile'),
    stop,
    restart: async (settings = {}) => {
      await stop();
      return startManager({
        repository,
        dataFolder,
        whenDone,
        clock,
        ...(options.path === undefined ? {} : { path: options.path }),
        settings: { ...options.settings, ...settings },
      });
    },
  };
}

function settingsOf(
  repository: TestRepository,
  dataFolder: string,
  settings: Readonly<Record<string, string>> = {},
) {
  const result = parseConfig(
    {
      PORT: '0',
      DESIRED_STATE: join(repository.folder, 'desired-state'),
      DATA_DIR: dataFolder,
      BASIC_AUTH_USER: USER,
      BASIC_AUTH_PASSWORD: PASSWORD,
      GIT_POLL_INTERVAL: '0',
      ...settings,
    },
    [],
  );
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config;
}

/** A function that sends requests to the manager at this address, such as `http://127.0.0.1:8080`. */
export function requester(address: string): TestManager['request'] {
  return async (method, path, { body, raw, headers = {}, authorization = AUTHORIZATION } = {}) => {
    const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(address + path, {
      method,
      headers: {
        'content-type': 'application/json',
        'x-request-id': randomUUID(),
        ...(authorization === null ? {} : { authorization }),
        ...headers,
      },
      ...(payload === undefined ? {} : { body: payload as string }),
    });
    return replyOf(response.status, response.headers, await response.text());
  };
}

/** A fleet for `files` of {@link ManagerOptions}: two apps, of which one is stopped, and a group of both. */
export const SMALL_FLEET = {
  'apps/web.yaml': '# the web server\ncontainer_image: nginx:1.26\nstarting_ports: [80]\n',
  'apps/cron.yaml': 'container_image: cron:3\nrunning: false\n',
  'device-groups/edge.yaml': 'apps:\n  - web\n  - cron\n',
} as const;
