import { setTimeout as sleep } from 'node:timers/promises';
import { Convergence } from '../../../src/protocol/device.ts';
import type { Bench, Line } from '../bench.ts';
import { appPath, appText, type Fleet, groupName, importFiles, makeFleet } from '../fleet.ts';
import { AUTHORIZATION, type Manager, startManager } from '../manager.ts';
import { type Child, startHelper } from '../process.ts';
import { ms } from '../statistics.ts';

const GROUPS = 100;
const APPS = 1000;
/** Seconds in which nothing is committed, at the end: devices poll every ten. */
const SETTLING = 35;

interface Simulated {
  polls: number;
  reports: number;
  errors: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  max: number;
  /** Of each device: the tag that it sent last, and whether its last report had an app that fails. */
  said: { group: string; said: string | null; failing: boolean; leaves: boolean }[];
}

/**
 * Devices that poll every ten seconds and report every minute, beside commits: how long polls take, the memory, and whether the
 * manager's counts at the end are what the devices have said.
 */
export async function fleet(bench: Bench): Promise<Line[]> {
  const [count, seconds] = bench.isLong ? [10_000, 600] : [2000, 70];
  const repository = await makeFleet(bench, APPS, GROUPS);
  const manager = await startManager(bench, {
    folder: repository.folder,
    env: { DEVICE_SILENT_AFTER: String(Math.floor(seconds / 3)), REPORTS: 'changes' },
  });
  const before = await manager.memory();
  const devices = startDevices(bench, manager, count, seconds);
  await devices.waitFor(/connected/);
  const commits = await commitFor(repository, seconds - SETTLING);
  await devices.ended;
  const { polls, reports, errors, p50, p99, max, said } = JSON.parse(
    devices.output().trim().split('\n').at(-1) ?? '',
  ) as Simulated;
  const grown = (await manager.memory()) - before;
  const wrong = await wrongCounts(manager, said);
  for (const each of wrong.slice(0, 5)) bench.say(each);
  return [
    {
      row: `${count.toLocaleString('en')} devices for ${seconds} s beside ${commits} commits`,
      measured: `${polls} polls, p50 ${ms(p50)}, p99 ${ms(p99)}, longest ${ms(max)}; ${reports} reports; ${errors} errors; +${Math.round(grown / 1e6)} MB; ${wrong.length} counts wrong`,
      baseline: '-',
      ratio: '',
      target: 'no error, p99 <= 50 ms, counts right',
      met: errors === 0 && p99 <= 50 && wrong.length === 0,
    },
  ];
}

function startDevices(bench: Bench, manager: Manager, count: number, seconds: number): Child {
  const child = startHelper(bench, 'devices');
  const groups = Array.from({ length: GROUPS }, (_, index) => groupName(index));
  const port = Number(new URL(manager.address).port);
  child.process.stdin?.end(JSON.stringify({ port, authorization: AUTHORIZATION, groups, count, seconds }));
  return child;
}

/** Commits changed apps every two seconds: one, and each tenth time all of them. Resolves to how many commits. */
async function commitFor({ folder }: Fleet, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let commits = 0;
  while (performance.now() < end) {
    const changed = commits % 10 === 9 ? APPS : 1;
    const indexes = Array.from({ length: changed }, (_, index) => (commits * 37 + index) % APPS);
    const version = 100 + commits;
    await importFiles(
      folder,
      indexes.map((index) => [appPath(index), appText(index, version)]),
    );
    commits += 1;
    await sleep(2000);
  }
  return commits;
}

/** Compares the counts with what the devices have said; resolves to what differs. */
async function wrongCounts(manager: Manager, said: Simulated['said']): Promise<string[]> {
  const expected = new Map<string, Record<string, number>>();
  for (const device of said) {
    const state = stateOf(device, await etagOf(manager, device.group));
    const counts = expected.get(device.group) ?? {};
    counts[state] = (counts[state] ?? 0) + 1;
    expected.set(device.group, counts);
  }
  const { groups } = Convergence.parse(
    JSON.parse((await manager.request('GET', '/api/v2/convergence')).text),
  );
  return groups.flatMap((counts) =>
    STATES.map((state) => [state, counts[state], expected.get(counts.group)?.[state] ?? 0] as const)
      .filter(([, counted, told]) => counted !== told)
      .map(([state, counted, told]) => `${counts.group}: ${counted} are ${state}, ${told} have said so`),
  );
}

const STATES = ['current', 'behind', 'failed', 'silent', 'unknown'] as const;

function stateOf(
  { said, failing, leaves }: Simulated['said'][number],
  etag: string | null,
): (typeof STATES)[number] {
  if (leaves) return 'silent';
  if (failing) return 'failed';
  if (said === null) return 'unknown';
  return said === etag ? 'current' : 'behind';
}

async function etagOf(manager: Manager, group: string): Promise<string | null> {
  return (await manager.request('GET', `/api/v2/device_groups/${group}/info`)).headers.get('etag');
}
