import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import type { OperationEntry, Store } from '../../../src/store/store.ts';
import { type TestOrigin, testOrigin } from '../../support/origin.ts';
import type { ProcessManager } from '../../support/process-manager.ts';
import type { Info } from '../../support/worker.ts';
import { FleetManagers } from './fleet-managers.ts';
import { FleetPoller, type Served } from './fleet-poller.ts';
import { FleetWriter, type Tally } from './fleet-writer.ts';
import { dropDatabase, newDatabase, openDatabase, SERVER } from './place.ts';
import { canRace } from './probe.ts';

const WRITERS = ['red', 'green', 'blue'];
const GROUPS = ['edge', ...WRITERS.map((name) => `of-${name}`)];

/** How many writes are left when the last manager is killed. */
function killsDuring(writes: number): number[] {
  return Array.from({ length: Math.ceil((writes - 25) / 35) }, (_, index) => writes - 25 - 35 * index);
}

const isRacing = await canRace();
const count = isRacing ? 2 : 1;
if (!SERVER.isMissing && !isRacing) {
  process.stdout.write('two managers would not be safe on this server: one manager is killed instead\n');
}

let database: string;

beforeEach(() => {
  database = newDatabase();
});
afterEach(async () => {
  if (!SERVER.isMissing) await dropDatabase(database);
});

function firstFleet(): Record<string, string> {
  const apps = ['web', 'person', ...WRITERS].map((name) => [`apps/${name}.yaml`, 'container_image: i:1\n']);
  const groups = WRITERS.map((name) => [`device-groups/of-${name}.yaml`, `apps: [web, ${name}]\n`]);
  return Object.fromEntries([
    ...apps,
    ...groups,
    ['device-groups/edge.yaml', `apps: [web, person, ${WRITERS}]\n`],
  ]);
}

/** Pushes changes that devices must act on and some that they must not; loses a race now and then, but not each. */
async function pushUntil(isOver: () => boolean, { push }: TestOrigin): Promise<number> {
  let pushed = 0;
  for (let turn = 1; !isOver() || pushed === 0; turn += 1) {
    const text = `# push ${turn}\ncontainer_image: person:${Math.floor(turn / 3)}\n`;
    const isDone = await push({ 'desired-state/apps/person.yaml': text }, `push ${turn}`).catch(() => null);
    if (isDone !== null) pushed += 1;
    await sleep(300);
  }
  return pushed;
}

async function killNowAndThen(managers: FleetManagers, tally: Tally): Promise<void> {
  for (const left of killsDuring(tally.left)) {
    while (tally.left > left) await sleep(5);
    await managers.killAndRestart();
  }
}

/** Everything at once, until all writes are acknowledged; what fails is thrown when all of it has ended. */
async function live(
  writes: number,
  origin: TestOrigin,
  managers: FleetManagers,
  pollers: readonly FleetPoller[],
) {
  const tally: Tally = { left: writes, unsure: 0, commits: [], operations: [] };
  let isOver = false;
  const until = (): boolean => isOver;
  const beside = [pushUntil(until, origin), ...pollers.map((poller) => poller.run(until, 40))];
  const work = WRITERS.map((name) => new FleetWriter(name, managers, tally).run());
  try {
    await Promise.all([killNowAndThen(managers, tally), ...work]);
  } finally {
    isOver = true;
    tally.left = 0;
    await Promise.allSettled([...work, ...beside]);
  }
  const [pushed] = await Promise.all(beside);
  return { tally, pushed };
}

async function ok(manager: ProcessManager, method: string, path: string) {
  const reply = await manager.request(method, path);
  expect(reply.status, `${method} ${path}: ${reply.text}`).toBe(200);
  return reply.body;
}

/** What every manager tells devices, after all have looked at origin; throws where they do not tell the same. */
async function infosOfAll(managers: FleetManagers, head: string): Promise<Info[]> {
  const answers = [];
  for (const manager of managers.all) {
    await ok(manager, 'POST', '/api/v2/reconcile');
    expect((await ok(manager, 'GET', '/api/v2/reconcile')).revision_applied).toBe(head);
  }
  for (const manager of managers.all) {
    const names = (await ok(manager, 'GET', '/api/v2/apps')).apps;
    const infos = GROUPS.map((group) => ok(manager, 'GET', `/api/v2/device_groups/${group}/info`));
    answers.push({ names, infos: await Promise.all(infos) });
  }
  for (const answer of answers) expect(answer).toEqual(answers[0]);
  return answers[0]?.infos ?? [];
}

/** What git holds at the head is what devices are told and what the store holds. */
async function expectAgreement({ bare }: TestOrigin, store: Store, infos: readonly Info[]): Promise<void> {
  const read = async (path: string) => parse(await bare.show(`desired-state/${path}.yaml`, 'main'));
  expect((await store.state()).applied?.revision).toBe(await bare.git('rev-parse', 'main'));
  for (const [index, info] of infos.entries()) {
    const name = GROUPS[index] ?? '';
    expect(info.apps_list).toEqual((await read(`device-groups/${name}`)).apps);
    const stored = await store.groupInfo(name);
    expect(stored?.apps.map((app) => app.appId)).toEqual(info.apps.map(({ app_id }) => app_id));
    for (const app of info.apps) {
      const { container_image, running = true } = await read(`apps/${app.app_name}`);
      expect({ container_image, running }).toEqual({
        container_image: app['container_image'],
        running: app['running'],
      });
    }
  }
}

/** Each acknowledged write is there once, and no other write twice. */
function expectOnce(acknowledged: readonly string[], found: readonly string[]): void {
  expect(found.length).toBe(new Set(found).size);
  expect(acknowledged.filter((id) => !found.includes(id))).toEqual([]);
}

async function requestsInHistory({ bare }: TestOrigin): Promise<string[]> {
  const text = await bare.git('log', '--format=%(trailers:key=Request-Id,valueonly)', 'main');
  return text.split('\n').filter((line) => line !== '');
}

async function allOperations(store: Store): Promise<OperationEntry[]> {
  const entries: OperationEntry[] = [];
  for (;;) {
    const page = await store.operations(entries.at(-1)?.id ?? null, 100);
    if (page.length === 0) return entries;
    entries.push(...page);
  }
}

/** No app has risen more often than it was changed or restarted: two managers that apply a commit raise its ids once. */
async function expectNoNeedlessRise(
  { bare }: TestOrigin,
  infos: readonly Info[],
  first: readonly Info[],
  operations: readonly OperationEntry[],
): Promise<void> {
  const idOf = (info: Info | undefined, name: string): number =>
    info?.apps.find(({ app_name }) => app_name === name)?.app_id ?? 0;
  for (const name of ['web', ...WRITERS]) {
    const path = `desired-state/apps/${name}.yaml`;
    const commits = Number(await bare.git('rev-list', '--count', 'main', '--', path)) - 1;
    const restarts = operations.filter((entry) => entry.action !== 'prune' && entry.name === name).length;
    const rise = idOf(infos[0], name) - idOf(first[0], name);
    expect(rise, name).toBeGreaterThan(0);
    expect(rise, name).toBeLessThanOrEqual(commits + restarts);
  }
}

/** Replies that are kept ready can be `CACHE_TIME` old: waits until all managers tell the same. */
function finalInfos(managers: FleetManagers, { bare }: TestOrigin): Promise<Info[]> {
  const PATIENCE = { timeout: 60_000, interval: 200 };
  return vi.waitFor(async () => infosOfAll(managers, await bare.git('rev-parse', 'main')), PATIENCE);
}

/** Lives with all of it, and looks at everything that is left. */
async function keepsAll(writes: number, cacheTime: number): Promise<void> {
  const origin = await testOrigin(firstFleet());
  const env = { MONGODB_URI: SERVER.uri, MONGODB_DATABASE: database, CACHE_TIME: `${cacheTime}` };
  const managers = await FleetManagers.start(count, origin, env);
  const first = await finalInfos(managers, origin);
  const served: Served = new Map();
  const pollers = GROUPS.map((group) => new FleetPoller(group, managers, served));
  const { tally, pushed } = await live(writes, origin, managers, pollers);
  const infos = await finalInfos(managers, origin);
  for (const [index, poller] of pollers.entries()) {
    const info = infos[index] as Info;
    poller.see(info);
    expect(poller.broken).toEqual([]);
    if (cacheTime === 0) expect(poller.fallen).toEqual([]);
    expect(poller.agreesWith(info)).toBe(true);
    expect(poller.replies).toBeGreaterThan(10);
  }
  expect(managers.kills).toBe(killsDuring(writes).length);
  expect(pushed).toBeGreaterThan(0);
  const store = await openDatabase(database);
  try {
    await expectAgreement(origin, store, infos);
    expectOnce(tally.commits, await requestsInHistory(origin));
    const operations = await allOperations(store);
    const requests = operations.map(({ requestId }) => requestId);
    expectOnce(tally.operations, requests);
    await expectNoNeedlessRise(origin, infos, first, operations);
  } finally {
    await store.close();
  }
  for (const manager of managers.all) expect(await manager.stop()).toBe(0);
}

const WHO = isRacing
  ? 'two managers, one of which is killed again and again'
  : 'the one manager that this server allows, killed again and again';

/** Milliseconds on a busy machine with a server that is slow. */
const LIMITS = { timeout: 600_000 };

describe.skipIf(SERVER.isMissing)(`${WHO}, while a person pushes`, LIMITS, () => {
  it('keep 200 writes once each, agree with git, and no id falls', () => keepsAll(200, 0));

  it('bring no device back to an older version with replies that are kept ready', () => keepsAll(100, 1));
});
