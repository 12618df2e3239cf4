import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FakeEngine, startFakeEngine } from '../../support/fake-engine.ts';
import type { Bench, Line } from '../bench.ts';
import { AUTHORIZATION, type Manager, startManager } from '../manager.ts';
import { type Child, PROJECT, runToEnd, startChild } from '../process.ts';
import { median, times } from '../statistics.ts';

const MEBIBYTE = 1024 * 1024;
/** Containers of the device: four apps, one of them twice. */
const APPS = ['web', 'api', 'cache', 'agent'];
const ROUNDS = 5;
/** Ticks of the processor's clock in a second, as /proc counts them. */
const TICKS = 100;

/** The worker on a device: memory, processor and files at rest, and how soon a commit runs. The engine is in memory. */
export async function worker(bench: Bench): Promise<Line[]> {
  const engine = await startFakeEngine('docker-1.41', (end) => bench.whenDone(async () => end()));
  for (const app of APPS)
    for (let version = 1; version <= ROUNDS + 1; version++) {
      const reference = image(app, version);
      engine.registry.push(reference, reference);
    }
  const folder = await makeRepository(bench);
  const manager = await startManager(bench, { folder });
  return [...(await atRest(bench, engine, manager)), await commitToRunning(bench, engine, manager, folder)];
}

function image(app: string, version: number): string {
  return `registry.example.com/${app}:${version}`;
}

async function git(bench: Bench, folder: string, ...args: string[]): Promise<void> {
  const identity = ['-c', 'user.name=Pat', '-c', 'user.email=pat@example.com'];
  await runToEnd(bench, 'git', ['-C', folder, ...identity, ...args]);
}

async function makeRepository(bench: Bench): Promise<string> {
  const folder = await bench.folder();
  await git(bench, folder, 'init', '--quiet', '--initial-branch', 'main');
  await mkdir(join(folder, 'desired-state/apps'), { recursive: true });
  await mkdir(join(folder, 'desired-state/device-groups'));
  for (const app of APPS) await writeApp(folder, app, 1);
  await writeFile(join(folder, 'desired-state/device-groups/lab.yaml'), JSON.stringify({ apps: APPS }));
  await git(bench, folder, 'add', '.');
  await git(bench, folder, 'commit', '--quiet', '--message', 'Four apps');
  return folder;
}

async function writeApp(folder: string, app: string, version: number): Promise<void> {
  const count = app === 'web' ? 2 : 1;
  const fields = { container_image: image(app, version), containers_per: { server: count } };
  await writeFile(join(folder, `desired-state/apps/${app}.yaml`), JSON.stringify(fields));
}

async function startWorker(
  bench: Bench,
  engine: FakeEngine,
  manager: Manager,
  env: Record<string, string>,
): Promise<{ child: Child; data: string }> {
  const [user = '', password = ''] = Buffer.from(AUTHORIZATION.slice(6), 'base64').toString().split(':');
  const data = await bench.folder();
  const child = startChild(bench, process.execPath, [join(PROJECT, 'dist/main.js'), 'worker'], {
    MANAGER: manager.address,
    DEVICE_GROUP: 'lab',
    DEVICE_AUTH_USER: user,
    DEVICE_AUTH_PASSWORD: password,
    DEVICE_NAME: 'device-1',
    ENGINE: engine.socket,
    DATA_DIR: data,
    DISK_HIGH: '100',
    ...env,
  });
  return { child, data };
}

async function untilRunning(engine: FakeEngine, app: string, version: number): Promise<void> {
  for (;;) {
    const name = engine.names().find((one) => one === `${app}-1`);
    if (name !== undefined) {
      const { state, image: running } = engine.container(name);
      if (state === 'running' && running.version === image(app, version)) return;
    }
    await sleep(5);
  }
}

async function atRest(bench: Bench, engine: FakeEngine, manager: Manager): Promise<Line[]> {
  const { child, data } = await startWorker(bench, engine, manager, {});
  const bare = startChild(bench, process.execPath, ['-e', 'setInterval(() => undefined, 1000)']);
  for (const app of APPS) await untilRunning(engine, app, 1);
  // Until the new containers have passed their gates, and the first reports are sent.
  await sleep(30_000);
  const seconds = bench.isLong ? 3600 : 60;
  const before = { ticks: await ticksOf(child.pid), files: await filesIn(data) };
  await sleep(seconds * 1000);
  const share = (((await ticksOf(child.pid)) - before.ticks) / TICKS / seconds) * 100;
  const written = (await filesIn(data)) === before.files ? 'none' : 'some';
  const [own, least] = [await memoryOf(child.pid), await memoryOf(bare.pid)];
  await child.stop();
  return [
    {
      row: 'worker at rest: memory, and private of it',
      measured: `${mb(own.resident)} (${mb(own.private)})`,
      baseline: `${mb(least.resident)} (${mb(least.private)}) bare Node.js`,
      ratio: times(own.resident / least.resident),
      target: '<= 64 MB (20)',
      met: own.resident <= 64 * MEBIBYTE && own.private <= 20 * MEBIBYTE,
    },
    {
      row: 'worker at rest: processor',
      measured: `${share.toFixed(2)} % of a core`,
      baseline: '',
      ratio: '',
      target: '<= 0.5 %',
      met: share <= 0.5,
    },
    {
      row: `worker at rest: files written in ${seconds} s`,
      measured: written,
      baseline: '',
      ratio: '',
      target: 'none',
      met: written === 'none',
    },
  ];
}

async function commitToRunning(
  bench: Bench,
  engine: FakeEngine,
  manager: Manager,
  folder: string,
): Promise<Line> {
  const interval = 1;
  const { child } = await startWorker(bench, engine, manager, {
    ORCHESTRATOR_MANAGER_CHECK_IN_TIME: String(interval),
  });
  const taken: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await sleep(3000);
    await writeApp(folder, 'api', round + 2);
    await git(bench, folder, 'commit', '--quiet', '--all', '--message', `Version ${round + 2}`);
    const start = performance.now();
    await untilRunning(engine, 'api', round + 2);
    taken.push((performance.now() - start) / 1000);
  }
  await child.stop();
  const middle = median(taken);
  return {
    row: 'worker: a commit runs on a device',
    measured: `${middle.toFixed(1)} s (${Math.max(...taken).toFixed(1)} at most)`,
    baseline: `${interval} s between polls`,
    ratio: times(middle / interval),
    target: 'interval + 2 s',
    met: Math.max(...taken) <= interval + 2,
  };
}

async function ticksOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

async function memoryOf(pid: number): Promise<{ resident: number; private: number }> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1]) * 1024;
  return { resident: kilobytes('VmRSS'), private: kilobytes('RssAnon') };
}

/** Names, sizes and times of the files of a folder. */
async function filesIn(folder: string): Promise<string> {
  const names = (await readdir(folder)).sort();
  const stats = await Promise.all(names.map((name) => stat(join(folder, name))));
  return JSON.stringify(stats.map(({ mtimeMs, size }, index) => [names[index], mtimeMs, size]));
}

function mb(bytes: number): string {
  return `${(bytes / MEBIBYTE).toFixed(0)} MB`;
}
