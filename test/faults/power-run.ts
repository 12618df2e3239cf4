import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { TestRepository } from '../support/git.ts';
import { type ProcessManager, type ProcessOptions, startProcessManager } from '../support/process-manager.ts';
import { Disk, type Luck, type Tree } from './disk-model.ts';
import { readLog, straceTo, type Traced } from './strace-log.ts';

/** What devices see: the body of each path, or null if there is nothing. */
type Fleet = Readonly<Record<string, string | null>>;

/** An acknowledged write. */
interface Answered {
  /** The index of its reply in the traced calls. */
  done: number;
  /** The fleet after it. */
  fleet: Fleet;
  /** Its commit. */
  revision: string;
  /** The hosts of the reports that it sent. */
  hosts: readonly string[];
}

/** A recorded run of the manager, which can be replayed up to any call. */
export interface Run {
  /** The files before it. */
  base: Tree;
  traced: readonly Traced[];
  answers: readonly Answered[];
}

/** The folders of a run, and the options of its manager. */
export interface Setup {
  /** Everything on the machine that loses power is below this folder. */
  machine: string;
  /** The folder in it that stands for another machine, which keeps its power; null if there is none. */
  elsewhere: string | null;
  options: ProcessOptions;
  /** The repository that users work with. */
  repository: TestRepository;
}

const PATHS = ['apps/web', 'apps/cron', 'apps/extra', 'device_groups/edge'];

/** A request: method, path below `/api/v2` and body. Each report in a body needs a host of its own. */
export type Step = readonly [method: string, path: string, body?: unknown];

const WRITES: readonly Step[] = [
  ['PUT', 'apps/web/update', { container_image: 'a:1' }],
  ['POST', 'apps/web/restart'],
  ['POST', 'device_groups/edge/prune'],
  ['POST', 'apps/extra', { container_image: 'extra:1' }],
  ['PUT', 'apps/web/update', { container_image: 'a:2', env_vars: { A: 'two' } }],
  ['POST', 'prune'],
  ['POST', 'device_groups/edge/update', { apps: ['web', 'cron', 'extra'] }],
  ['POST', 'apps/extra/restart'],
  ['POST', 'apps/web/stop'],
  ['DELETE', 'apps/extra'],
  ['POST', 'apps/cron/start'],
  ['PUT', 'apps/web/update', { container_image: 'a:3' }],
  ['POST', 'apps/web/restart'],
];

/** An acknowledged write before it is found in the trace, by the id of its request. */
interface Reply extends Omit<Answered, 'done'> {
  id: string;
}

/** Traces a manager that carries out writes one after another, with a kill and a new start halfway. */
export async function recordRun(setup: Setup, steps: readonly Step[] = WRITES): Promise<Run> {
  const base = await readTree(setup.machine);
  const half = Math.ceil(steps.length / 2);
  const parts = [await tracePart(setup, steps.slice(0, half)), await tracePart(setup, steps.slice(half))];
  const traced = parts.flatMap((part) => part.traced);
  const answers = parts
    .flatMap(({ replies }) => replies)
    .map(({ id, ...rest }) => {
      const done = traced.findIndex((one) => one.kind === 'answer' && one.text.includes(id));
      expect(done, `no answer to ${id} in the trace`).toBeGreaterThanOrEqual(0);
      return { ...rest, done };
    });
  return { base, traced, answers };
}

/** Traces a manager from its start until it is killed after these writes. */
async function tracePart(
  setup: Setup,
  steps: readonly Step[],
): Promise<{ traced: Traced[]; replies: Reply[] }> {
  const log = `${setup.machine}.trace`;
  const manager = await startProcessManager({ ...setup.options, wrapper: straceTo(log) });
  const replies: Reply[] = [];
  for (const [method, path, body] of steps) {
    const reply = await manager.request(method, `/api/v2/${path}`, body);
    expect([200, 202], `${method} ${path}: ${reply.text}`).toContain(reply.status);
    const id = reply.headers.get('x-request-id') ?? '';
    const revision = reply.headers.get('holdfast-revision') ?? '';
    replies.push({
      id,
      revision,
      fleet: await seeFleet(manager),
      hosts: path === 'reports' ? hostsOf(body) : [],
    });
  }
  await untilRecorded(setup, manager, replies.at(-1)?.fleet ?? {});
  await manager.kill();
  return { traced: readLog(await readFile(log, 'latin1'), setup.machine), replies };
}

function hostsOf(reports: unknown): string[] {
  return (reports as { hostname: string }[]).map(({ hostname }) => hostname);
}

/**
 * Resolves when the ids of the fleet are recorded and the manager knows that: a push of a version can outlive a killed manager, and
 * what happens after the end of `strace` would be missing from the trace.
 */
async function untilRecorded({ repository }: Setup, manager: ProcessManager, fleet: Fleet): Promise<void> {
  const rows = Object.values(fleet).flatMap((text) => (text === null ? [] : rowsOf(JSON.parse(text))));
  const record = async (): Promise<string> => {
    const ref = await repository.git('for-each-ref', '--format=%(refname)', 'refs/holdfast/record/');
    return ref === '' ? '' : repository.git('grep', '--no-color', '-h', '"', ref);
  };
  const missing = async () => {
    const text = await record();
    return rows.filter((row) => !text.includes(row));
  };
  await expect.poll(missing).toEqual([]);
  const version = Number(/"idSequence": (\d+)/.exec(await record())?.[1]);
  const done = async () => (await manager.request('GET', '/api/v2/reconcile')).body.ids_record.id_sequence;
  await expect.poll(done).toBe(version);
}

/** The rows of the record with the ids of an app or a device group. */
function rowsOf({
  app_name,
  app_id,
  device_group,
  device_group_id,
  prune_id,
}: Record<string, unknown>): string[] {
  if (app_name !== undefined) return [`["app","${app_name}",${app_id},`];
  return [`["device_group","${device_group}",${device_group_id},`, `["prune","${device_group}",${prune_id},`];
}

/** The disk after the first `cut` calls. */
export function diskAt(setup: Setup, run: Run, cut: number): Disk {
  const disk = new Disk(setup.machine, run.base);
  for (const one of run.traced.slice(0, cut)) {
    if (one.kind === 'answer') continue;
    if (one.kind !== 'open') disk.apply(one);
    else if (!disk.has(one.path)) disk.apply({ kind: 'create', path: one.path });
    else if (one.isCut) disk.apply({ kind: 'resize', path: one.path, size: 0 });
  }
  return disk;
}

/** Replaces the files of the machine by what a loss of power after `cut` calls leaves of them. */
export async function losePower(setup: Setup, run: Run, cut: number, luck: Luck): Promise<void> {
  const disk = diskAt(setup, run, cut);
  const isElsewhere = (path: string): boolean =>
    setup.elsewhere !== null && (path === setup.elsewhere || path.startsWith(`${setup.elsewhere}/`));
  await rm(setup.machine, { recursive: true });
  await mkdir(setup.machine);
  const kept = [...disk.survivors(luck)].filter(([path]) => !isElsewhere(path));
  // The other machine keeps running, and a push that was cut off removes its locks there.
  const there = [...disk.seen()].filter(([path]) => isElsewhere(path) && !path.endsWith('.lock'));
  for (const [path, bytes] of [...kept, ...there]) {
    if (bytes === null) await mkdir(path);
    else await writeFile(path, path.endsWith('/holdfast-switch') ? inEarlierBoot(bytes) : bytes);
  }
}

/** A note as it looks after the machine has started again. */
function inEarlierBoot(note: Buffer): string {
  return note.toString().replace(/"boot":"[^"]*"/, '"boot":"before"');
}

/** Starts the manager on what is left, and checks that it has every acknowledged write and accepts more. */
export async function expectNothingLost(setup: Setup, run: Run, cut: number): Promise<void> {
  const { repository } = setup;
  const manager = await startProcessManager(setup.options);
  await manager.request('POST', '/api/v2/reconcile');
  const fleet = await seeFleet(manager);
  const answered = run.answers.filter(({ done }) => done < cut);
  const last = answered.at(-1)?.fleet;
  if (last !== undefined) expectKept(fleet, last, run.answers[answered.length]?.fleet ?? last);
  const hosts = answered.flatMap((one) => one.hosts);
  const inProgress = run.answers[answered.length]?.hosts ?? [];
  expect([hosts, [...hosts, ...inProgress]]).toContainEqual(await seeHosts(manager));
  for (const { revision } of answered) await repository.git('merge-base', '--is-ancestor', revision, 'main');
  await repository.git('rev-list', '--objects', '--quiet', 'main');
  if (setup.elsewhere === null) await putInOrder(repository);
  await expectWritable(manager, fleet);
  expect(await manager.stop()).toBe(0);
  if (setup.elsewhere === null) expect(await repository.git('status', '--porcelain')).toBe('');
}

/** What a person does after a loss of power in the middle of a checkout. */
async function putInOrder({ folder, git }: TestRepository): Promise<void> {
  for (const name of ['index.lock', 'HEAD.lock', 'refs/heads/main.lock'])
    await rm(join(folder, '.git', name), { force: true });
  await git('reset', '--quiet', '--hard');
  // A file that the write was about to add.
  await git('clean', '--quiet', '--force', '-d');
}

/** Checks that the write in progress has happened completely, not at all, or was applied and taken back. */
function expectKept(fleet: Fleet, last: Fleet, next: Fleet): void {
  const possible = [last, next, takenBack(fleet, last, next)];
  expect(possible.map((one) => comparable(one, last))).toContainEqual(comparable(fleet, last));
}

/** Leaves out the `_id` of new objects: an object whose create was not acknowledged can be created again from its commit. */
function comparable(fleet: Fleet, answered: Fleet): Fleet {
  const texts = Object.entries(fleet).map(([path, text]) => {
    const isNew = text !== null && answered[path] === null;
    return [path, isNew ? text.replace(OBJECT_ID, '') : text] as const;
  });
  return Object.fromEntries(texts);
}

/**
 * The fleet if the write in progress was applied, and perhaps served, but its branch was not on the disk: what it changed is as
 * before, with higher ids, and an object that it deleted is a new one.
 */
function takenBack(fleet: Fleet, last: Fleet, next: Fleet): Fleet {
  const texts = Object.entries(last).map(([path, text]) => {
    const seen = fleet[path] ?? null;
    if (text === next[path] || text === null || seen === null) return [path, text] as const;
    const applied = next[path] ?? text;
    const isHigher = idsOf(seen).every((id, index) => id >= (idsOf(applied)[index] ?? 0));
    const isNew = next[path] === null;
    return [path, isHigher && contentOf(seen, isNew) === contentOf(text, isNew) ? seen : text] as const;
  });
  return Object.fromEntries(texts);
}

const OBJECT_ID = /,"_id":\{[^}]*\}/;
const IDS = /"(?:app|device_group|prune)_id":(\d+)/g;

function idsOf(text: string): number[] {
  return Array.from(text.matchAll(IDS), ([, id]) => Number(id));
}

function contentOf(text: string, isNew: boolean): string {
  return (isNew ? text.replace(OBJECT_ID, '') : text).replace(IDS, '');
}

/** Checks that every app can be written, and that its id continues. */
async function expectWritable(manager: ProcessManager, fleet: Fleet): Promise<void> {
  for (const [path, text] of Object.entries(fleet)) {
    if (text === null || !path.startsWith('apps/')) continue;
    const reply = await manager.request('PUT', `/api/v2/${path}/update`, { container_image: 'after:1' });
    expect(reply.status, `${path}: ${reply.text}`).toBe(202);
    expect(reply.body.app_id).toBe(JSON.parse(text).app_id + 1);
  }
}

/** Reads what devices see. */
async function seeFleet(manager: ProcessManager): Promise<Fleet> {
  const fleet: Record<string, string | null> = {};
  for (const path of PATHS) {
    const reply = await manager.request('GET', `/api/v2/${path}`);
    fleet[path] = reply.status === 200 ? reply.text : null;
  }
  return fleet;
}

/** Reads the hosts of all reports, in the order of their arrival. */
async function seeHosts(manager: ProcessManager): Promise<string[]> {
  const hosts: string[] = [];
  for (let path = '/api/v2/reports?page_size=1000'; ; ) {
    const { data, last_id } = (await manager.request('GET', path)).body;
    hosts.push(...hostsOf(data));
    if (last_id === null) return hosts;
    path = `/api/v2/reports?page_size=1000&last_id=${last_id.$oid}`;
  }
}

/** Reads everything below a folder; each folder comes before its contents. */
export async function readTree(folder: string): Promise<Tree> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const paths = entries
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isFolder: entry.isDirectory() }))
    .filter(({ path }) => !path.endsWith('-shm'))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
  const tree = new Map<string, Buffer | null>();
  for (const { path, isFolder } of paths) tree.set(path, isFolder ? null : await readFile(path));
  return tree;
}
