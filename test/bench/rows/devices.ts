import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { appDefaults } from '../../../src/protocol/app.ts';
import type { DeviceSlot } from '../../../src/store/devices/slot.ts';
import { openSqliteStore } from '../../../src/store/open/sqlite.ts';
import type { Served } from '../../../src/store/served.ts';
import type { Bench, Line } from '../bench.ts';
import { appName, groupName, makeFleet } from '../fleet.ts';
import { sendEach, startPolling } from '../load.ts';
import { type Manager, processorTime, startManager } from '../manager.ts';
import { median, ms, percentile } from '../statistics.ts';
import { infoPath } from './info.ts';

const COUNT = 100_000;
const GROUPS = 500;
const APPS = 10_000;
const AT_ONCE = 2000;
const HOUR = 3_600_000;
/** Requests of each kind, of which the first ones are left out. */
const REQUESTS = 60;
const WARM_UP = 10;

/** A hundred thousand devices, of which a tenth is silent: lists and counts, and how long polls wait for them. */
export async function devices(bench: Bench): Promise<Line[]> {
  const { folder } = await makeFleet(bench, APPS, GROUPS);
  const dataFolder = join(await bench.folder(), 'data');
  const empty = await startManager(bench, { folder, dataFolder });
  const before = await empty.memory();
  await empty.stop();
  await addDevices(join(dataFolder, 'store.sqlite'));
  const manager = await startManager(bench, { folder, dataFolder });
  const { text } = await manager.request('GET', '/api/v2/convergence');
  bench.say(`counted: ${JSON.stringify((JSON.parse(text) as { totals: unknown }).totals)}`);
  const after = await manager.memory();
  const lines: Line[] = [];
  for (const [name, pathAt] of Object.entries(QUERIES)) lines.push(await line(bench, manager, name, pathAt));
  const each = (after - before) / COUNT;
  const memory = `+${Math.round((after - before) / 1e6)} MB, ${Math.round(each)} bytes each`;
  return [
    ...lines,
    {
      row: `memory of ${COUNT.toLocaleString('en')} devices`,
      measured: memory,
      baseline: '-',
      ratio: '',
      target: '',
      met: null,
    },
  ];
}

const QUERIES: Readonly<Record<string, (turn: number) => string>> = {
  'GET /devices': (turn) => `/api/v2/devices?after=0~${nameAt((turn * 7919) % COUNT)}`,
  'GET /devices?sort=since': () => '/api/v2/devices?sort=since',
  'GET /devices?sort=last_seen': () => '/api/v2/devices?sort=last_seen',
  'GET /devices?state=behind': () => '/api/v2/devices?state=behind&sort=since',
  'GET /devices?app=': (turn) => `/api/v2/devices?app=${appName(turn)}`,
  'GET /devices?q=': (turn) => `/api/v2/devices?q=${turn}`,
  'GET /convergence': () => '/api/v2/convergence',
  'GET /summary': () => '/api/v2/summary',
};

async function line(
  bench: Bench,
  manager: Manager,
  name: string,
  pathAt: (turn: number) => string,
): Promise<Line> {
  const paths = Array.from({ length: REQUESTS }, (_, turn) => pathAt(turn));
  const stopPolling = startPolling(bench, manager.address, infoPath(0), 5);
  const before = await processorTime(manager.child.pid);
  const taken = (await sendEach(bench, manager.address, paths)).slice(WARM_UP);
  const each = ((await processorTime(manager.child.pid)) - before) / REQUESTS;
  const polls = await stopPolling();
  const p99 = percentile(taken, 0.99);
  bench.say(`${name}: p50 ${ms(median(taken))}, p99 ${ms(p99)}, ${ms(each)} of a processor`);
  return {
    row: `${name}, ${COUNT.toLocaleString('en')} devices`,
    measured: `p50 ${ms(median(taken))}, p99 ${ms(p99)}; ${ms(each)} of a processor`,
    baseline: `p99 ${ms(percentile(polls, 0.99))}, longest ${ms(percentile(polls, 1))}, polls meanwhile`,
    ratio: '',
    target: 'p99 <= 100 ms',
    met: p99 <= 100,
  };
}

function nameAt(place: number): string {
  return `store-${String(place).padStart(6, '0')}`;
}

/** Adds slots to the store of a manager that is stopped, by the store's own API. */
async function addDevices(path: string): Promise<void> {
  const store = await openSqliteStore({ path, defaults: appDefaults([]), random: randomBytes });
  const served = await store.devices.served();
  const now = Date.now();
  for (let from = 0; from < COUNT; from += AT_ONCE) {
    const slots = Array.from({ length: AT_ONCE }, (_, index) => slotAt(from + index, now, served));
    await store.devices.put(
      slots.map((slot) => ({ slot })),
      now,
    );
  }
  await store.close();
}

/** Of ten, one is silent and one behind; of a hundred, one fails; half of them report. */
function slotAt(place: number, now: number, { fleet, groups }: Served): DeviceSlot {
  const group = groupName(place % GROUPS);
  const order = (groups.get(group)?.order ?? 0) - (place % 10 === 3 ? 1 : 0);
  const at = now - (place % 10 === 7 ? HOUR : place % 10_000);
  const failed = place % 100 === 51 ? [{ app: appName(place % APPS), error: 'exit code 1' }] : [];
  const word = { fleet: fleet.slice(0, 4), order };
  const common = { at, group, word, since: at };
  const instance = { id: randomBytes(4).toString('hex'), since: at };
  const quiet = { foreignTag: null, fellAt: null, conflict: null };
  const failedSince = failed.length > 0 ? at : null;
  const digest = randomBytes(32).toString('base64url');
  return {
    name: nameAt(place),
    poll: { ...common, ...quiet, access: 'shared', instance, interval: 10_000 },
    report: place % 2 === 0 ? null : { ...common, failed, failedSince, worker: '1.2.0', digest },
  };
}
