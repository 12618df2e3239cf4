import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Bench, Line } from '../bench.ts';
import {
  appName,
  appPath,
  appText,
  DURABLE,
  type Fleet,
  importCommits,
  makeBare,
  makeFleet,
  type NewCommit,
} from '../fleet.ts';
import { sendLoad } from '../load.ts';
import { type Manager, type ManagerOptions, startManager } from '../manager.ts';
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

/**
 * 64 clients, each of which makes one write after another, of a work tree and of a remote. Every write must be in the history
 * afterwards. The baseline makes 64 commits at once with `git fast-import`, and pushes them.
 */
export async function writesAtOnce(bench: Bench): Promise<Line[]> {
  const other = process.env['BENCH_OTHER'];
  const builds = [undefined, ...(other === undefined ? [] : [other])];
  const lines: Line[] = [];
  for (const main of builds) {
    const name = main === undefined ? '' : ', other build';
    const fleet = await makeFleet(bench, 1000, 50);
    const pushes = await pushesAtOnce(bench, fleet);
    const bare = await makeBare(bench, fleet);
    const build = main === undefined ? {} : { main };
    const onTree = { folder: fleet.folder, ...build };
    const env = { GIT_REMOTE: bare, DESIRED_STATE: 'desired-state' };
    lines.push(
      atOnceLine(`, work tree${name}`, await measureAtOnce(bench, onTree, fleet.git), pushes),
      atOnceLine(
        `, remote${name}`,
        await measureAtOnce(bench, { folder: null, env, ...build }, (...args) =>
          fleet.git('-C', bare, ...args),
        ),
        pushes,
      ),
    );
  }
  return lines;
}

interface AtOnce {
  rate: number;
  isComplete: boolean;
}

function atOnceLine(where: string, { rate, isComplete }: AtOnce, pushes: number): Line {
  return {
    row: `64 API writes at once, one commit each${where}`,
    measured: `${perSecond(rate)}, ${isComplete ? 'all in git log, fsck clean' : 'some are lost'}`,
    baseline: `${perSecond(pushes)}, 64 commits a push`,
    ratio: times(rate / pushes),
    target: '>= 0.35',
    met: rate / pushes >= 0.35 && isComplete,
  };
}

async function measureAtOnce(bench: Bench, options: ManagerOptions, git: Fleet['git']): Promise<AtOnce> {
  const before = Number(await git('rev-list', '--count', 'main'));
  const manager = await startManager(bench, options);
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
  // While the manager joins packs, a fsck can miss packs and report missing objects.
  await manager.stop();
  const made = Number(await git('rev-list', '--count', 'main')) - before;
  const isIntact = (await git('fsck', '--no-dangling', '--no-progress')).trim() === '';
  return { rate, isComplete: made === (ROUNDS + 1) * AT_ONCE && isIntact };
}

/** The commits a second of git alone, which pushes so many together as there are clients. */
async function pushesAtOnce(bench: Bench, fleet: Fleet): Promise<number> {
  const origin = await makeBare(bench, fleet);
  const twin = await makeBare(bench, { ...fleet, folder: origin });
  const git = (...args: string[]): Promise<string> => fleet.git('-C', twin, ...args);
  const time = Math.floor(Date.now() / 1000);
  const taken: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const commits = Array.from({ length: AT_ONCE }, (_, index): NewCommit => {
      const file: [string, string] = [appPath(index * 11), appText(index * 11, 2 + round)];
      return { author: 'Pat', time, message: `change ${round} of ${index}`, files: [file] };
    });
    taken.push(
      await timed(async () => {
        await importCommits(twin, commits);
        await git(...DURABLE, 'push', '--quiet', origin, 'main');
      }),
    );
  }
  return (1000 * AT_ONCE) / median(taken);
}
