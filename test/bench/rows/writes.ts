import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench, Line } from '../bench.ts';
import { appName, appPath, appText, DURABLE, type Fleet, makeBare, makeFleet } from '../fleet.ts';
import { sendLoad } from '../load.ts';
import { type Manager, startManager } from '../manager.ts';
import { median, ms, percentile, perSecond, timed, times } from '../statistics.ts';

/** The number of writes and commits for a figure, of which the first `WARM_UP` are left out. */
const COUNT = 40;
const WARM_UP = 8;

/** Writes through the API, one at a time, compared with the same commits by git alone. */
export async function writes(bench: Bench): Promise<Line[]> {
  const lines: Line[] = [];
  for (const apps of [1000, 10_000]) {
    const figures = await measureLocalWrites(bench, apps);
    lines.push(writeLine(`API write, work tree, ${apps.toLocaleString('en')} apps`, figures));
    lines.push(
      writeLine(`API write, remote, ${apps.toLocaleString('en')} apps`, await remoteWrites(bench, apps)),
    );
  }
  return lines;
}

interface WriteFigures {
  /** Milliseconds of each. */
  ours: number[];
  theirs: number[];
}

async function measureLocalWrites(bench: Bench, apps: number): Promise<WriteFigures> {
  const fleet = await makeFleet(bench, apps, apps / 20);
  const twin = await makeFleet(bench, apps, apps / 20);
  const manager = await startManager(bench, { folder: fleet.folder });
  return inPairs(
    (index) => writeOnce(manager, index),
    (index) => commitFile(twin, index),
  );
}

async function remoteWrites(bench: Bench, apps: number): Promise<WriteFigures> {
  const fleet = await makeFleet(bench, apps, apps / 20);
  const [origin, twinOrigin] = [await makeBare(bench, fleet), await makeBare(bench, fleet)];
  await fleet.git('remote', 'add', 'origin', twinOrigin);
  const env = { GIT_REMOTE: origin, DESIRED_STATE: 'desired-state' };
  const manager = await startManager(bench, { folder: null, env });
  return inPairs(
    (index) => writeOnce(manager, index),
    async (index) => {
      await commitFile(fleet, index);
      await fleet.git(...DURABLE, 'push', '--quiet', 'origin', 'main');
    },
  );
}

async function inPairs(
  ours: (index: number) => Promise<unknown>,
  theirs: (index: number) => Promise<unknown>,
): Promise<WriteFigures> {
  const figures: WriteFigures = { ours: [], theirs: [] };
  for (let index = 0; index < COUNT; index++) {
    const [a, b] = [await timed(() => ours(index)), await timed(() => theirs(index))];
    if (index < WARM_UP) continue;
    figures.ours.push(a);
    figures.theirs.push(b);
  }
  return figures;
}

export function writeOnce(manager: Manager, index: number): Promise<unknown> {
  const body = { container_image: `registry.example.com/written/service-${index}:2.${index}` };
  return manager.request('PUT', `/api/v2/apps/${appName(index * 7)}/update`, body);
}

/** What a user does: edit, add, commit. */
export async function commitFile(fleet: Fleet, index: number): Promise<void> {
  const path = appPath(index * 7);
  await writeFile(join(fleet.folder, path), appText(index * 7, 2 + index));
  await fleet.git(...DURABLE, 'add', '--', path);
  await fleet.git(...DURABLE, 'commit', '--quiet', '--message', `change ${index}`);
}

function writeLine(row: string, { ours, theirs }: WriteFigures): Line {
  const [a, b] = [median(ours), median(theirs)];
  return {
    row,
    measured: `p50 ${ms(a)}, p99 ${ms(percentile(ours, 0.99))}`,
    baseline: ms(b),
    ratio: times(a / b),
    target: '<= 2.00',
    met: a / b <= 2,
  };
}

const AT_ONCE = 64;
const ROUNDS = 12;

/** 64 clients, each of which makes one write after another. Every write must be in the history afterwards. */
export async function writesAtOnce(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 1000, 50);
  const manager = await startManager(bench, { folder: fleet.folder });
  const before = Number(await fleet.git('rev-list', '--count', 'HEAD'));
  const write = (index: number) => ({
    method: 'PUT',
    path: `/api/v2/apps/${appName((index % AT_ONCE) * 11)}/update`,
    body: JSON.stringify({ container_image: `registry.example.com/many/service:${index}` }),
  });
  const send = async (from: number, amount: number): Promise<number> => {
    const requests = Array.from({ length: amount }, (_, index) => write(from + index));
    const headers = { 'content-type': 'application/json' };
    const load = { address: manager.address, requests, headers, connections: AT_ONCE, amount };
    return (await sendLoad(bench, load, ['202'])).rate;
  };
  await send(0, AT_ONCE);
  const rate = await send(AT_ONCE, ROUNDS * AT_ONCE);
  const single: number[] = [];
  for (let index = 0; index < COUNT; index++) single.push(await timed(() => writeOnce(manager, index)));
  // While the manager joins packs, a fsck can miss packs and report missing objects.
  await manager.stop();
  const made = Number(await fleet.git('rev-list', '--count', 'HEAD')) - before;
  const isIntact = (await fleet.git('fsck', '--no-dangling', '--no-progress')).trim() === '';
  const one = 1000 / median(single);
  const isComplete = made === (ROUNDS + 1) * AT_ONCE + COUNT && isIntact;
  return [
    {
      row: '64 API writes at once, one commit each',
      measured: `${perSecond(rate)}, ${isComplete ? 'all in git log, fsck clean' : `${made} commits, fsck ${isIntact}`}`,
      baseline: `${perSecond(one)}, one publish each`,
      ratio: times(rate / one),
      target: '>= 200/s',
      met: rate >= 200 && isComplete,
    },
  ];
}
