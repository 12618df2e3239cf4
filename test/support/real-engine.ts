import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { isInside } from './engine/namespace.ts';
import { temporaryFolder, type WhenDone } from './folder.ts';

/** A dockerd of a test, with its own data, in the namespace of the tests. */
export interface RealEngine {
  /** Path of its socket. */
  socket: string;
  /** Kills dockerd, and with it containerd; the containers' processes go on until it is started again. */
  kill(): Promise<void>;
  /** Kills all of it, containers included, as a loss of power does. */
  powerOff(): Promise<void>;
  /** Starts it again, and waits until it answers. */
  start(): Promise<void>;
  /**
   * While it is killed: lets it forget that it has started a container, as a dockerd does that is killed between the start
   * and the note of it. Its containerd keeps the container's task.
   */
  forgetStart(id: string): Promise<void>;
  /** Fills its disk, but for some bytes. */
  fillDisk(leave?: number): void;
  freeDisk(): void;
  /** Removes all containers, images and networks, and frees the disk. */
  clear(): Promise<void>;
  /** What dockerd wrote so far. */
  log(): Promise<string>;
  /** Sends a request to its API, past the program under test. */
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }>;
}

export interface RealEngineOptions {
  /** Of its disk, in the syntax of `mount`; `1g` by default. */
  size?: string;
  /** How often dockerd tries again to load a layer, after pauses of 5, 10, 15 … seconds; once by default. */
  downloadAttempts?: number;
  whenDone?: WhenDone;
}

/** Seconds in which dockerd has to answer. */
const LIMIT = 60;

/** Starts a dockerd, which is gone with all its containers when the test is over. */
export async function startRealEngine(options: RealEngineOptions = {}): Promise<RealEngine> {
  if (!isInside()) throw new Error('a real engine runs only in the namespace of `npm run test:engine`');
  const { size = '1g', downloadAttempts = 1, whenDone = onTestFinished } = options;
  const folder = await temporaryFolder(whenDone);
  const data = join(folder, 'data');
  await mkdir(data);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=711`, 'tmpfs', data]);
  const engine = new Dockerd(folder, [`--max-download-attempts=${downloadAttempts}`]);
  whenDone(() => engine.end());
  await engine.start();
  return engine;
}

/** Resolves to what a port of loopback answers over HTTP, without the line break at its end; null if nothing does. */
export async function ask(port: number): Promise<string | null> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      signal: AbortSignal.timeout(2000),
      headers: { connection: 'close' },
    });
    return (await response.text()).trimEnd();
  } catch {
    return null;
  }
}

class Dockerd implements RealEngine {
  readonly socket: string;
  readonly #folder: string;
  #child: ReturnType<typeof spawn> | null = null;

  readonly #options: readonly string[];

  constructor(folder: string, options: readonly string[]) {
    this.#folder = folder;
    this.#options = options;
    this.socket = join(folder, 'docker.sock');
  }

  async start(): Promise<void> {
    const at = (name: string): string => join(this.#folder, name);
    await writeFile(at('daemon.json'), '{}');
    await rm(at('docker.pid'), { force: true });
    const log = openSync(at('log'), 'a');
    const child = spawn('dockerd', [...argumentsFor(this.#folder), ...this.#options], {
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    this.#child = child;
    for (let tries = 0; !(await this.#answers()); tries++) {
      if (child.exitCode !== null || tries > LIMIT * 20)
        throw new Error(`dockerd did not start:\n${await this.log()}`);
      await sleep(50);
    }
  }

  async kill(): Promise<void> {
    if (this.#child === null) return;
    this.#child.kill('SIGKILL');
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
    this.#child = null;
    await this.#gone((process) => process.name === 'containerd');
  }

  async powerOff(): Promise<void> {
    await this.kill();
    for (const { id } of this.#processes()) killNow(id);
    await this.#gone(() => true);
    this.#unmount();
    await rm(join(this.#folder, 'exec'), { recursive: true, force: true });
  }

  async end(): Promise<void> {
    this.freeDisk();
    await this.powerOff();
    execFileSync('umount', ['--lazy', join(this.#folder, 'data')]);
  }

  async forgetStart(id: string): Promise<void> {
    const file = join(this.#folder, 'data', 'containers', id, 'config.v2.json');
    const config = JSON.parse(await readFile(file, 'utf8'));
    Object.assign(config.State, { Running: false, Pid: 0 });
    await writeFile(file, JSON.stringify(config));
  }

  fillDisk(leave = 0): void {
    const { bavail, bsize } = statfsSync(join(this.#folder, 'data'));
    writeFileSync(this.#ballast(), Buffer.alloc(Math.max(0, bavail * bsize - leave)));
  }

  freeDisk(): void {
    rmSync(this.#ballast(), { force: true });
  }

  async clear(): Promise<void> {
    this.freeDisk();
    const { body: containers } = await this.api('GET', '/containers/json?all=true');
    for (const { Id } of containers as { Id: string }[])
      await this.api('DELETE', `/containers/${Id}?force=true&v=true`);
    const { body: images } = await this.api('GET', '/images/json');
    for (const { Id } of images as { Id: string }[]) await this.api('DELETE', `/images/${Id}?force=true`);
    await this.api('POST', '/networks/prune');
    await this.api('POST', '/volumes/prune');
  }

  log(): Promise<string> {
    return readFile(join(this.#folder, 'log'), 'utf8');
  }

  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' };
      request({ socketPath: this.socket, agent: false, method, path, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response
          .on('error', reject)
          .on('end', () => resolve({ status: response.statusCode ?? 0, body: parse(text) }));
      })
        .on('error', reject)
        .end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  #ballast(): string {
    return join(this.#folder, 'data', 'ballast');
  }

  #answers(): Promise<boolean> {
    return this.api('GET', '/_ping').then(
      ({ status }) => status === 200,
      () => false,
    );
  }

  async #gone(which: (process: Process) => boolean): Promise<void> {
    for (let tries = 0; this.#processes().some(which); tries++) {
      if (tries > LIMIT * 100) throw new Error('processes of the engine cannot be ended');
      await sleep(10);
    }
  }

  /** The processes of this engine and their descendants: containerd, shims, containers. */
  #processes(): Process[] {
    const all = processes();
    const ours = new Set(all.filter(({ command }) => command.includes(this.#folder)).map(({ id }) => id));
    for (let size = 0; size !== ours.size; ) {
      size = ours.size;
      for (const { id, parent } of all) if (ours.has(parent)) ours.add(id);
    }
    return all.filter(({ id, state }) => ours.has(id) && id !== process.pid && state !== 'Z');
  }

  /** Takes down what the containers had mounted, but not the disk itself. */
  #unmount(): void {
    const mounts = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .map((line) => line.split(' ')[1] ?? '');
    const ours = mounts.filter(
      (path) => path.startsWith(`${this.#folder}/`) && path !== join(this.#folder, 'data'),
    );
    for (const path of ours.reverse()) execFileSync('umount', ['--lazy', path]);
  }
}

/** Ports listen on loopback only, and no rule of a firewall is written. */
function argumentsFor(folder: string): string[] {
  const paths = {
    host: `unix://${join(folder, 'docker.sock')}`,
    'data-root': join(folder, 'data'),
    'exec-root': join(folder, 'exec'),
    pidfile: join(folder, 'docker.pid'),
    'config-file': join(folder, 'daemon.json'),
  };
  return [
    ...Object.entries(paths).flatMap(([name, path]) => [`--${name}`, path]),
    '--storage-driver=overlay2',
    '--ip=127.0.0.1',
    '--iptables=false',
    '--ip6tables=false',
    '--ip-masq=false',
    '--ip-forward=false',
    '--exec-opt=native.cgroupdriver=cgroupfs',
    '--oom-score-adjust=0',
    '--log-level=warn',
  ];
}

interface Process {
  id: number;
  parent: number;
  name: string;
  state: string;
  command: string;
}

function processes(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((id) => {
      try {
        const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
        const [, name = '', state = '', parent = ''] = /^\d+ \((.*)\) (\S) (\d+)/s.exec(stat) ?? [];
        const command = readFileSync(`/proc/${id}/cmdline`, 'utf8');
        return [{ id: Number(id), parent: Number(parent), name, state, command }];
      } catch {
        // It has ended.
        return [];
      }
    });
}

function killNow(id: number): void {
  try {
    process.kill(id, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
