import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import type { Store } from '../../../src/store/objects/port.ts';
import type { Operation } from '../../../src/store/operation.ts';
import { type TestOrigin, testOrigin } from '../../support/origin.ts';
import type { ProcessManager } from '../../support/process-manager.ts';
import type { Info } from '../../support/worker.ts';
import { operationsOf } from '../contract/support.ts';
import { FleetManagers } from './fleet-managers.ts';
import { FleetPoller, type Served } from './fleet-poller.ts';
import { FleetWriter, type Tally } from './fleet-writer.ts';
import { canRace } from './probe.ts';
import { dropDatabase, newDatabase, openDatabase, SERVER } from './test-database.ts';

const WRITERS = ['red', 'green', 'blue'];
const GROUPS = ['edge', ...WRITERS.map((name) => `of-${name}`)];

/** The numbers of writes left at which the last manager is killed. */
function killPoints(writes: number): number[] {
  return Array.from({ length: Math.ceil((writes - 25) / 35) }, (_, index) => writes - 25 - 35 * index);
}

const canRaceHere = await canRace();
const MANAGERS = 2;

let database: string;

beforeEach(() => {
  database = newDatabase();
});
afterEach(() => dropDatabase(database));

function firstFleet(): Record<string, string> {
  const apps = ['web', 'user', ...WRITERS].map((name) => [`apps/${name}.yaml`, 'container_image: i:1\n']);
  const groups = WRITERS.map((name) => [`device-groups/of-${name}.yaml`, `apps: [web, ${name}]\n`]);
  return Object.fromEntries([
    ...apps,
    ...groups,
    ['device-groups/edge.yaml', `apps: [web, user, ${WRITERS}]\n`],
  ]);
}

/** Pushes changes of an app, some of them only of a comment, until `isOver`; resolves to the number of successful pushes. */
async function pushUntil(isOver: () => boolean, { push }: TestOrigin): Promise<number> {
  let pushed = 0;
  for (let turn = 1; !isOver() || pushed === 0; turn += 1) {
    const text = `# push ${turn}\ncontainer_image: user:${Math.floor(turn / 3)}\n`;
    const isDone = await push({ 'desired-state/apps/user.yaml': text }, `push ${turn}`).catch(() => null);
    if (isDone !== null) pushed += 1;
    await sleep(300);
  }
  return pushed;
}

/** Kills the last manager at each kill point. */
async function killRepeatedly(managers: FleetManagers, tally: Tally): Promise<void> {
  for (const left of killPoints(tally.left)) {
    while (tally.left > left) await sleep(5);
    await managers.killAndRestart();
  }
}

/** Writes, pushes, polls and kills at the same time, until all writes are acknowledged. Failures are thrown once all has ended. */
async function runLoad(
  writes: number,
  origin: TestOrigin,
  managers: FleetManagers,
  pollers: readonly FleetPoller[],
) {
  const tally: Tally = { left: writes, unacknowledged: 0, commits: [], operations: [] };
  let isOver = false;
  const isLoadOver = (): boolean => isOver;
  const background = [pushUntil(isLoadOver, origin), ...pollers.map((poller) => poller.run(isLoadOver, 40))];
  const writing = WRITERS.map((name) => new FleetWriter(name, managers, tally).run());
  try {
    await Promise.all([killRepeatedly(managers, tally), ...writing]);
  } finally {
    isOver = true;
    tally.left = 0;
    await Promise.allSettled([...writing, ...background]);
  }
  const [pushed] = await Promise.all(background);
  return { tally, pushed };
}

/** The body of a reply, which must be a 200. */
async function okBody(manager: ProcessManager, method: string, path: string) {
  const reply = await manager.request(method, path);
  expect(reply.status, `${method} ${path}: ${reply.text}`).toBe(200);
  return reply.body;
}

/** Has all managers poll origin; resolves to the infos of all groups, which must be the same on each manager. */
async function commonInfos(managers: FleetManagers, head: string): Promise<Info[]> {
  const replies = [];
  for (const manager of managers.all) {
    await okBody(manager, 'POST', '/api/v2/reconcile');
    expect((await okBody(manager, 'GET', '/api/v2/reconcile')).revision_applied).toBe(head);
  }
  for (const manager of managers.all) {
    const names = (await okBody(manager, 'GET', '/api/v2/apps')).apps;
    const infos = GROUPS.map((group) => okBody(manager, 'GET', `/api/v2/device_groups/${group}/info`));
    replies.push({ names, infos: await Promise.all(infos) });
  }
  for (const reply of replies) expect(reply).toEqual(replies[0]);
  return replies[0]?.infos ?? [];
}

/** Checks that the files at the head of the branch, the store and the replies to devices agree. */
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

/** Checks that each acknowledged write was found, and no write twice. */
function expectOnce(acknowledged: readonly string[], found: readonly string[]): void {
  expect(found.length).toBe(new Set(found).size);
  expect(acknowledged.filter((id) => !found.includes(id))).toEqual([]);
}

async function requestsInHistory({ bare }: TestOrigin): Promise<string[]> {
  const text = await bare.git('log', '--format=%(trailers:key=Request-Id,valueonly)', 'main');
  return text.split('\n').filter((line) => line !== '');
}

/** Checks that no app's id has risen more often than the app was changed or restarted: two managers raise it once for a commit. */
async function expectNoNeedlessRise(
  { bare }: TestOrigin,
  infos: readonly Info[],
  first: readonly Info[],
  operations: readonly Operation[],
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

/** Waits until all managers serve the same: cached replies can be `CACHE_TIME` old. */
function settledInfos(managers: FleetManagers, { bare }: TestOrigin): Promise<Info[]> {
  const head = () => bare.git('rev-parse', 'main');
  return vi.waitFor(async () => commonInfos(managers, await head()), { timeout: 60_000, interval: 200 });
}

/** Runs the load with this many writes, and checks everything that it leaves. */
async function expectAllKept(writes: number, cacheTime: number): Promise<void> {
  const origin = await testOrigin(firstFleet());
  const env = { MONGODB_URI: SERVER.uri, MONGODB_DATABASE: database, CACHE_TIME: `${cacheTime}` };
  const managers = await FleetManagers.start(MANAGERS, origin, env);
  const first = await settledInfos(managers, origin);
  const served: Served = new Map();
  const pollers = GROUPS.map((group) => new FleetPoller(group, managers, served));
  const { tally, pushed } = await runLoad(writes, origin, managers, pollers);
  const infos = await settledInfos(managers, origin);
  for (const [index, poller] of pollers.entries()) {
    const info = infos[index] as Info;
    poller.see(info);
    expect(poller.broken).toEqual([]);
    if (cacheTime === 0) expect(poller.fallen).toEqual([]);
    expect(poller.agreesWith(info)).toBe(true);
    expect(poller.replies).toBeGreaterThan(10);
  }
  expect(managers.kills).toBe(killPoints(writes).length);
  expect(pushed).toBeGreaterThan(0);
  const store = await openDatabase(database);
  try {
    await expectAgreement(origin, store, infos);
    expectOnce(tally.commits, await requestsInHistory(origin));
    const operations = await operationsOf(store);
    const requests = operations.map(({ requestId }) => requestId);
    expectOnce(tally.operations, requests);
    await expectNoNeedlessRise(origin, infos, first, operations);
  } finally {
    await store.close();
  }
  for (const manager of managers.all) expect(await manager.stop()).toBe(0);
}

/** Milliseconds, for a busy machine with a slow server. */
const LIMITS = { timeout: 600_000, retry: 0 };

describe.skipIf(!canRaceHere)('two managers of which one is killed again and again', LIMITS, () => {
  it('keeps each of 200 acknowledged writes once, git, store and replies agree, and no id falls', () =>
    expectAllKept(200, 0));

  it('brings no device back to an older version with cached replies', () => expectAllKept(100, 1));
});
