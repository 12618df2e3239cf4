import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench } from './bench.ts';
import { type Child, PROJECT, startChild } from './process.ts';

const USER = 'bench';
const PASSWORD = 'a password for measuring';
export const AUTHORIZATION = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`;

/** The built manager in a process of its own. */
export interface Manager {
  child: Child;
  address: string;
  dataFolder: string;
  /** Rejects unless the status is below 400. */
  request(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; headers: Headers; text: string }>;
  /** Resident memory in bytes. */
  memory(): Promise<number>;
  stop(): Promise<void>;
}

export interface ManagerOptions {
  /** Work tree, or null with GIT_REMOTE in `env`. */
  folder: string | null;
  dataFolder?: string;
  env?: Readonly<Record<string, string>>;
  /** `main.js` of another build. */
  main?: string;
  /** A command that runs the manager. */
  wrapper?: readonly string[];
}

/** Starts a manager, and waits until it serves a revision. */
export async function startManager(bench: Bench, options: ManagerOptions): Promise<Manager> {
  const manager = await launchManager(bench, options);
  // Shorter pauses would slow down the start that is measured.
  while (!(await isReady(manager.address))) await sleep(20);
  return manager;
}

/** Starts a manager, and waits until it listens. */
async function launchManager(bench: Bench, options: ManagerOptions): Promise<Manager> {
  const { folder, env = {} } = options;
  const profiles = process.env['BENCH_PROFILES'];
  const flags = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`];
  const dataFolder = options.dataFolder ?? join(await bench.folder(), 'data');
  const main = options.main ?? join(PROJECT, 'dist/main.js');
  const [command = '', ...args] = [...(options.wrapper ?? []), process.execPath, ...flags, main, 'serve'];
  const child = startChild(bench, command, args, {
    PORT: '0',
    DATA_DIR: dataFolder,
    BASIC_AUTH_USER: USER,
    BASIC_AUTH_PASSWORD: PASSWORD,
    GIT_POLL_INTERVAL: '0',
    CACHE_TIME: '10',
    ...(folder === null ? {} : { DESIRED_STATE: join(folder, 'desired-state') }),
    ...env,
  });
  const [, address = ''] = await child.waitFor(/"address":"([^"]+)"/);
  const request: Manager['request'] = async (method, path, body) => {
    const response = await fetch(address + path, {
      method,
      headers: { 'content-type': 'application/json', authorization: AUTHORIZATION },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (response.status >= 400) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return { status: response.status, headers: response.headers, text };
  };
  return { child, address, dataFolder, request, memory: () => residentMemory(child.pid), stop: child.stop };
}

async function isReady(address: string): Promise<boolean> {
  const response = await fetch(`${address}/readyz`).catch(() => null);
  await response?.arrayBuffer();
  return response?.ok === true;
}

/** The resident memory of a process in bytes; NaN except on Linux. */
export function residentMemory(pid: number): Promise<number> {
  return memoryLine(pid, /^VmRSS:\s+(\d+) kB/m);
}

/** The most resident memory that a process had, in bytes; NaN except on Linux. */
export function peakMemory(pid: number): Promise<number> {
  return memoryLine(pid, /^VmHWM:\s+(\d+) kB/m);
}

/** The processor time that a process has used, in milliseconds; NaN except on Linux. */
export async function processorTime(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  // After the name, in ticks of 10 ms.
  const [user, system] = text.slice(text.lastIndexOf(')')).split(' ').slice(12);
  return (Number(user) + Number(system)) * 10;
}

async function memoryLine(pid: number, pattern: RegExp): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(pattern.exec(text)?.[1] ?? Number.NaN) * 1024;
}
