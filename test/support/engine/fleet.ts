import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { askSocket } from '../../../src/worker/data-dir/local-request.ts';
import type { WorkerStatus } from '../../../src/worker/status/status.ts';
import { temporaryFolder } from '../folder.ts';
import { type TestRepository, testRepository } from '../git.ts';
import { type ProcessManager, startProcessManager } from '../process-manager.ts';
import { killGroup, PROJECT, startProcess, type TestProcess } from '../project.ts';

/** A worker in a process of its own. */
export interface TestWorker {
  process: TestProcess;
  data: string;
  /** What `holdfast worker status --json` shows; null while it starts. */
  status(): Promise<WorkerStatus | null>;
  /** Waits until its state is as asked; rejects with its state and log if that takes more than a minute or two. */
  until(isSo: (status: WorkerStatus) => boolean): Promise<WorkerStatus>;
  /** Kills it by SIGKILL. */
  kill(): Promise<void>;
  /** Stops it by SIGTERM; resolves to its exit code. */
  stop(): Promise<number | null>;
  /** Runs a command of `holdfast worker` beside it, such as `retry web`; resolves to its exit code. */
  command(...args: string[]): Promise<number | null>;
}

export interface WorkerOptions {
  socket: string;
  manager: string;
  group?: string;
  data?: string;
  env?: Record<string, string>;
}

/** The account of all devices. */
export const DEVICE = { user: 'device', password: 'the password of all devices' };

/** Starts a worker with short intervals. It is killed when the test is over, and its containers stay. */
export async function startWorker({
  socket,
  manager,
  group = 'lab',
  data,
  env = {},
}: WorkerOptions): Promise<TestWorker> {
  const folder = data ?? (await temporaryFolder());
  const child = startProcess(process.execPath, [join(PROJECT, 'dist/main.js'), 'worker'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'],
      MANAGER: manager,
      DEVICE_GROUP: group,
      DEVICE_AUTH_USER: DEVICE.user,
      DEVICE_AUTH_PASSWORD: DEVICE.password,
      DEVICE_NAME: 'device-1',
      ENGINE: socket,
      DATA_DIR: folder,
      ORCHESTRATOR_MANAGER_CHECK_IN_TIME: '1',
      HEALTH_WAIT: '15',
      STOP_TIMEOUT: '1',
      DISK_HIGH: '100',
      LOG_LEVEL: 'debug',
      ...env,
    },
  });
  const status = async (): Promise<WorkerStatus | null> => {
    const answer = await askSocket(join(folder, 'worker.sock'), { method: 'GET', path: '/status' }).catch(
      () => null,
    );
    return answer?.status === 200 ? (answer.body as WorkerStatus) : null;
  };
  return {
    process: child,
    data: folder,
    status,
    until: async (isSo) => {
      let last: WorkerStatus | null = null;
      for (let tries = 0; tries < 600; tries++) {
        last = (await status()) ?? last;
        if (last !== null && isSo(last)) return last;
        await sleep(200);
      }
      throw new Error(`the worker did not get there: ${JSON.stringify(last, null, 1)}\n${child.output()}`);
    },
    kill: async () => {
      killGroup(child.child.pid);
      await child.ended;
    },
    stop: async () => {
      child.child.kill('SIGTERM');
      await child.ended;
      return child.child.exitCode;
    },
    command: async (...args) => {
      const { child, ended } = startProcess(
        process.execPath,
        [join(PROJECT, 'dist/main.js'), 'worker', ...args],
        { cwd: folder, env: { PATH: process.env['PATH'], DATA_DIR: folder } },
      );
      await ended;
      return child.exitCode;
    },
  };
}

/** A manager with a repository: what a fleet is served. */
export interface TestFleet {
  manager: ProcessManager;
  repository: TestRepository;
  data: string;
  /** Commits apps and the list of the group `lab`, which has all of them, and waits until that is served. */
  apply(apps: Readonly<Record<string, object>>): Promise<void>;
  /** Starts the manager again, by default on the port that it was given first. */
  restart(port?: string): Promise<ProcessManager>;
}

/** Starts a manager on a new repository. */
export async function startFleet(firstPort = '0'): Promise<TestFleet> {
  const repository = await testRepository();
  const data = await temporaryFolder();
  await repository.commit({
    'desired-state/device-groups/lab.yaml': 'apps: []\n',
    'desired-state/apps/README.md': '',
  });
  const env = {
    DEVICE_AUTH_USER: DEVICE.user,
    DEVICE_AUTH_PASSWORD: DEVICE.password,
    CACHE_TIME: '0',
  };
  const start = (port = '0'): Promise<ProcessManager> =>
    startProcessManager({ repository, dataFolder: data, env: { ...env, PORT: port } });
  const fleet: TestFleet = {
    manager: await start(firstPort),
    repository,
    data,
    apply: async (apps) => {
      const files = Object.entries(apps).map(([name, fields]) => [
        `desired-state/apps/${name}.yaml`,
        JSON.stringify(fields),
      ]);
      const gone = (await repository.git('ls-files', 'desired-state/apps'))
        .split('\n')
        .filter((path) => path.endsWith('.yaml') && !files.some(([file]) => file === path))
        .map((path) => [path, null]);
      const group = ['desired-state/device-groups/lab.yaml', JSON.stringify({ apps: Object.keys(apps) })];
      await repository.commit(Object.fromEntries([...files, ...gone, group]));
      const { body } = await fleet.manager.request('POST', '/api/v2/reconcile');
      if (JSON.stringify(body).includes('"severity":"error"')) throw new Error(JSON.stringify(body));
    },
    restart: async (port = firstPort) => {
      fleet.manager = await start(port);
      return fleet.manager;
    },
  };
  return fleet;
}

/** Whether an app runs a version: all of its containers, with nothing wrong. */
export function runs(app: string, image: string): (status: WorkerStatus) => boolean {
  return ({ apps }) =>
    apps.some(
      ({ name, state, image: running, error }) =>
        name === app && state === 'running' && running === image && error === null,
    );
}
