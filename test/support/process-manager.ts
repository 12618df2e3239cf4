import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PASSWORD, requester, USER } from './manager.ts';
import { killGroup, PROJECT, startProcess, type TestProcess } from './project.ts';
import type { Reply } from './reply.ts';

/** The built program in a process of its own, which can be killed. */
export interface ProcessManager {
  process: TestProcess;
  /** Base URL of its API. */
  address: string;
  /** Sends a request as the administrator. Rejects if the process dies before it has answered. */
  request(method: string, path: string, body?: unknown): Promise<Reply>;
  /** Waits until a revision is applied; resolves to false if the process dies first. */
  isReady(): Promise<boolean>;
  /** Kills the process and its git processes, except pushes, fetches and clean-ups, which have their own groups. */
  kill(): Promise<void>;
  /** Stops it by SIGTERM; resolves to its exit code. */
  stop(): Promise<number | null>;
}

export interface ProcessOptions {
  repository: { folder: string };
  dataFolder: string;
  /** Settings besides those of `startManager`. */
  env?: Record<string, string>;
  /** A command that runs the program: `['strace', '-f']`. */
  wrapper?: readonly string[];
  /** The user that runs it; that of the tests by default. */
  user?: { uid: number; gid: number };
}

/** Starts the program and does not wait for it; its log is in `output()`. */
export function spawnManager({
  repository,
  dataFolder,
  env = {},
  wrapper = [],
  user,
}: ProcessOptions): TestProcess {
  const [command = '', ...args] = [...wrapper, process.execPath, join(PROJECT, 'dist/main.js'), 'serve'];
  return startProcess(command, args, {
    cwd: repository.folder,
    ...user,
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      DESIRED_STATE: join(repository.folder, 'desired-state'),
      DATA_DIR: dataFolder,
      BASIC_AUTH_USER: USER,
      BASIC_AUTH_PASSWORD: PASSWORD,
      GIT_POLL_INTERVAL: '0',
      ...env,
    },
  });
}

/** Starts the program and waits until it listens; resolves to null if it dies first. */
export async function tryStart(options: ProcessOptions): Promise<ProcessManager | null> {
  const child = spawnManager(options);
  const address = await child.waitFor(/"address":"([^"]+)"/).then(
    ([, found = '']) => found,
    () => null,
  );
  return address === null ? null : managerOf(child, address);
}

/** Starts the program and waits until a revision is applied; rejects with its output if it dies first. */
export async function startProcessManager(options: ProcessOptions): Promise<ProcessManager> {
  const child = spawnManager(options);
  const [, address = ''] = await child.waitFor(/"address":"([^"]+)"/);
  const manager = managerOf(child, address);
  if (!(await manager.isReady())) throw new Error(`died before it was ready:\n${child.output()}`);
  return manager;
}

function managerOf(child: TestProcess, address: string): ProcessManager {
  const { pid } = child.child;
  const request = requester(address);
  const isReady = async (): Promise<boolean> => {
    for (;;) {
      const reply = await fetch(`${address}/readyz`).catch(() => null);
      if (reply === null || reply.ok) return reply !== null;
      await sleep(20);
    }
  };
  return {
    process: child,
    address,
    isReady,
    request: (method, path, body) => request(method, path, { body }),
    kill: async () => {
      killGroup(pid);
      await child.ended;
    },
    stop: async () => {
      child.child.kill('SIGTERM');
      return child.ended;
    },
  };
}
