import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench, Line } from '../bench.ts';
import { groupName, makeFleet } from '../fleet.ts';
import { type Load, sendLoad } from '../load.ts';
import { type Manager, startManager } from '../manager.ts';
import { startHelper } from '../process.ts';
import { alternate, perSecond, times } from '../statistics.ts';
import { commitFile, writeOnce } from './writes.ts';

const ROUNDS = 5;
/** Seconds. */
const DURATION = 3;

export function infoPath(group: number): string {
  return `/api/v2/device_groups/${groupName(group)}/info`;
}

/** Headers that every server of `node:http` writes itself. */
const SERVER_HEADERS = ['connection', 'date', 'keep-alive'];

/** A bare server that sends the manager's reply for the first group: the same headers and body. */
async function startBare(bench: Bench, manager: Manager): Promise<string> {
  const { text, headers } = await manager.request('GET', infoPath(0));
  const own = [...headers].filter(([name]) => !SERVER_HEADERS.includes(name));
  const file = join(await bench.folder(), 'reply.json');
  await writeFile(file, JSON.stringify({ headers: own.flat(), body: text }));
  const child = startHelper(bench, 'bare-server', [file]);
  const [, port] = await child.waitFor(/listening on (\d+)/);
  return `http://127.0.0.1:${port}`;
}

/** `/info`, compared with a bare `node:http` server that sends the same bytes. */
export async function info(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 4, 1);
  const manager = await startManager(bench, { folder: fleet.folder });
  const bare = await startBare(bench, manager);
  const rate = (address: string) => async (): Promise<number> =>
    (await sendLoad(bench, { address, requests: [{ path: infoPath(0) }], duration: DURATION })).rate;
  await Promise.all([rate(manager.address)(), rate(bare)()]);
  const [ours, theirs] = await alternate(ROUNDS, rate(manager.address), rate(bare));
  return [rateLine('/info, 4 apps, 50 connections', ours, theirs)];
}

/**
 * `/info` of a thousand groups, compared with one group of the same manager; the same during writes; and, as a limit,
 * a bare server during commits by git alone on the same cores.
 */
export async function groups(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 4000, 1000);
  const manager = await startManager(bench, { folder: fleet.folder });
  const rateAt = (address: string, requests: Load['requests']) => async (): Promise<number> =>
    (await sendLoad(bench, { address, requests, duration: DURATION })).rate;
  const paths = Array.from({ length: fleet.groups }, (_, group) => ({ path: infoPath(group) }));
  const one = rateAt(manager.address, [{ path: infoPath(0) }]);
  const all = rateAt(manager.address, paths);
  await one();
  await all();
  const [many, single] = await alternate(ROUNDS - 2, all, one);
  let writes = 0;
  const writeNext = (): Promise<unknown> => writeOnce(manager, writes++);
  const [written, quiet] = await alternate(ROUNDS - 2, () => during(writeNext, all), all);

  const bare = rateAt(await startBare(bench, manager), paths);
  await manager.stop();
  await bare();
  let commits = 0;
  const commitNext = (): Promise<unknown> => commitFile(fleet, commits++);
  const [committed, alone] = await alternate(ROUNDS - 2, () => during(commitNext, bare), bare);
  return [
    rateLine('/info, 1,000 groups in rotation', many, single),
    rateLine('the same while a write lands every 100 ms', written, quiet),
    {
      ...rateLine('a bare server while git alone commits every 100 ms', committed, alone),
      target: 'what two cores leave',
      met: null,
    },
  ];
}

function rateLine(row: string, ours: number, theirs: number): Line {
  return {
    row,
    measured: perSecond(ours),
    baseline: perSecond(theirs),
    ratio: times(ours / theirs),
    target: '>= 0.85',
    met: ours / theirs >= 0.85,
  };
}

/** Milliseconds between one change and the next. */
const CHANGE_EVERY = 100;

/** Measures while changes are made one after another, and rejects if one of them fails. */
async function during(change: () => Promise<unknown>, measure: () => Promise<number>): Promise<number> {
  let last = Promise.resolve<unknown>(undefined);
  const timer = setInterval(() => {
    last = last.then(change);
    // A failure is reported at the end, when the load is over.
    last.catch(() => undefined);
  }, CHANGE_EVERY);
  try {
    return await measure();
  } finally {
    clearInterval(timer);
    await last;
  }
}

/** A 304 costs less than a 200. */
export async function notModified(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 4, 1);
  const manager = await startManager(bench, { folder: fleet.folder });
  const { headers } = await manager.request('GET', infoPath(0));
  const load = { address: manager.address, requests: [{ path: infoPath(0) }], duration: DURATION };
  const known = { ...load, headers: { 'if-none-match': headers.get('etag') ?? '' } };
  const [ours, theirs] = await alternate(
    ROUNDS,
    async () => (await sendLoad(bench, known, ['304'])).rate,
    async () => (await sendLoad(bench, load)).rate,
  );
  return [{ ...rateLine('304 beside 200', ours, theirs), target: '>= 1.00', met: ours >= theirs }];
}

const PAIRS = 10;
const DEVICES = 1000;

/** Polls that say who they are, compared with polls that have headers of that length which nobody reads. */
export async function named(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 4, 1);
  const manager = await startManager(bench, { folder: fleet.folder });
  const { headers } = await manager.request('GET', infoPath(0));
  const done = { 'if-none-match': headers.get('etag') ?? '' };
  const rate = (device: string, instance: string) => async (): Promise<number> => {
    const requests = Array.from({ length: DEVICES }, (_, index) => {
      const own = { [device]: `store-${10_000 + index}`, [instance]: (0x10000000 + index).toString(16) };
      return { path: infoPath(0), headers: { ...done, ...own } };
    });
    return (await sendLoad(bench, { address: manager.address, requests, duration: DURATION }, ['304'])).rate;
  };
  const read = rate('holdfast-device', 'holdfast-instance');
  const unread = rate('unlistened-name', 'unlistened-number');
  await read();
  await unread();
  const [ours, theirs] = await alternate(PAIRS, read, unread);
  return [
    {
      ...rateLine('304 of a poll with the name of a device', ours, theirs),
      target: '>= 0.95',
      met: ours / theirs >= 0.95,
    },
  ];
}
