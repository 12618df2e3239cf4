import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench, Line } from '../bench.ts';
import { appName, type Fleet, groupName, makeFleet } from '../fleet.ts';
import { type Load, sendLoad } from '../load.ts';
import { type Manager, startManager } from '../manager.ts';
import { startHelper } from '../process.ts';
import { inTurns, perSecond, times } from '../statistics.ts';

const ROUNDS = 5;
/** Seconds. */
const DURATION = 3;

export function infoPath(group: number): string {
  return `/api/v2/device_groups/${groupName(group)}/info`;
}

/** A server without anything, that replies what the manager replies to the first group. */
async function startBare(bench: Bench, manager: Manager): Promise<string> {
  const { text } = await manager.request('GET', infoPath(0));
  const file = join(await bench.folder(), 'reply.json');
  await writeFile(file, text);
  const child = startHelper(bench, 'bare-server', [file]);
  const [, port] = await child.waitFor(/listening on (\d+)/);
  return `http://127.0.0.1:${port}`;
}

/** `/info` beside a bare `node:http` server that replies the same bytes. */
export async function info(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 4, 1);
  const manager = await startManager(bench, { folder: fleet.folder });
  const bare = await startBare(bench, manager);
  const rate = (address: string) => async (): Promise<number> =>
    (await sendLoad(bench, { address, requests: [{ path: infoPath(0) }], duration: DURATION })).rate;
  await Promise.all([rate(manager.address)(), rate(bare)()]);
  const [ours, theirs] = await inTurns(ROUNDS, rate(manager.address), rate(bare));
  return [rateLine('/info, 4 apps, 50 connections', ours, theirs)];
}

/** The same with a thousand groups, alone and while writes land; beside one group of the same manager. */
export async function groups(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 4000, 1000);
  const manager = await startManager(bench, { folder: fleet.folder });
  const rate = (requests: Load['requests']) => async (): Promise<number> =>
    (await sendLoad(bench, { address: manager.address, requests, duration: DURATION })).rate;
  const one = rate([{ path: infoPath(0) }]);
  const all = rate(Array.from({ length: fleet.groups }, (_, group) => ({ path: infoPath(group) })));
  await one();
  await all();
  const [many, single] = await inTurns(ROUNDS - 2, all, one);
  const busy = async (): Promise<number> => {
    const writes = writeSteadily(manager, fleet);
    const result = await all();
    await writes.stop();
    return result;
  };
  const [written, quiet] = await inTurns(ROUNDS - 2, busy, all);
  return [
    rateLine('/info, 1,000 groups in turns', many, single),
    rateLine('the same while a write lands every 100 ms', written, quiet),
  ];
}

function rateLine(row: string, ours: number, theirs: number): Line {
  return {
    row,
    measured: perSecond(ours),
    baseline: perSecond(theirs),
    ratio: times(ours / theirs),
    target: '>= 0.90',
    met: ours / theirs >= 0.9,
  };
}

/** A write every 100 ms, each to another app. */
function writeSteadily(manager: Manager, fleet: Fleet): { stop(): Promise<void> } {
  let count = Math.floor(performance.now());
  let last: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    count += 1;
    const body = { env_vars: { COUNT: String(count) } };
    const write = manager.request('PUT', `/api/v2/apps/${appName(count % fleet.apps)}/update`, body);
    last = Promise.all([last, write]);
  }, 100);
  return {
    stop: async () => {
      clearInterval(timer);
      await last;
    },
  };
}

/** What has not changed costs less than what has. */
export async function notModified(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 4, 1);
  const manager = await startManager(bench, { folder: fleet.folder });
  const { headers } = await manager.request('GET', infoPath(0));
  const load = { address: manager.address, requests: [{ path: infoPath(0) }], duration: DURATION };
  const known = { ...load, headers: { 'if-none-match': headers.get('etag') ?? '' } };
  const [ours, theirs] = await inTurns(
    ROUNDS,
    async () => (await sendLoad(bench, known, ['304'])).rate,
    async () => (await sendLoad(bench, load)).rate,
  );
  return [{ ...rateLine('304 beside 200', ours, theirs), target: '>= 1.00', met: ours >= theirs }];
}
