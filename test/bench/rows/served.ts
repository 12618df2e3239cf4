import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Line } from '../bench.ts';
import { appPath, appText, DURABLE, type Fleet, groupName, importFiles, makeFleet } from '../fleet.ts';
import { startPolling } from '../load.ts';
import { type Manager, startManager } from '../manager.ts';
import { median, ms, percentile, timed, times } from '../statistics.ts';

const COUNT = 20;

/** The times of commits, and how long each took to be served. */
interface Served {
  /** Milliseconds from the move of the branch to the first reply that shows the commit. */
  ours: number[];
  /** Milliseconds of `diff-tree` of the two commits, and of reading the blob. */
  theirs: number[];
  /** Milliseconds that the commit itself took, with `add`. */
  commits: number[];
}

/** Commits one changed app after another, and measures each time how long git alone needs to read the change. */
export async function measureServed(
  fleet: Fleet,
  manager: Manager,
  from: number,
  count = COUNT,
): Promise<Served> {
  const served: Served = { ours: [], theirs: [], commits: [] };
  const size = Math.floor(fleet.apps / fleet.groups);
  for (let round = 0; round < count; round++) {
    const index = (from + round) * 3;
    const path = appPath(index);
    const version = 1000 + from + round;
    await writeFile(join(fleet.folder, path), appText(index, version));
    const seen = waitUntilServed(manager, Math.floor(index / size), `service-${index}:1.${version}.0`);
    served.commits.push(
      await timed(async () => {
        await fleet.git(...DURABLE, 'add', '--', path);
        await fleet.git(...DURABLE, 'commit', '--quiet', '--message', `change ${version}`);
      }),
    );
    served.ours.push((await seen) - (await stat(join(fleet.folder, '.git/refs/heads/main'))).mtimeMs);
    served.theirs.push(
      await timed(async () => {
        await fleet.git('diff-tree', '-r', 'HEAD~1', 'HEAD');
        await fleet.git('cat-file', 'blob', `HEAD:${path}`);
      }),
    );
  }
  return served;
}

/** Polls a group every `pause` milliseconds. Resolves to the time (Unix milliseconds) when its reply contains a text. */
async function waitUntilServed(manager: Manager, group: number, text: string, pause = 1): Promise<number> {
  for (;;) {
    const reply = await manager.request('GET', `/api/v2/device_groups/${groupName(group)}/info`);
    if (reply.text.includes(text)) return Date.now();
    await sleep(pause);
  }
}

/** A user's commit that changes one of ten thousand apps. */
export async function served(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 10_000, 500);
  const manager = await startManager(bench, { folder: fleet.folder });
  await measureServed(fleet, manager, 0, 4);
  const { ours, theirs } = await measureServed(fleet, manager, 10);
  const [a, b] = [median(ours), median(theirs)];
  return [
    {
      row: 'commit -> served, 1 of 10,000 apps',
      measured: `p50 ${ms(a)}, p99 ${ms(percentile(ours, 0.99))}`,
      baseline: ms(b),
      ratio: times(a / b),
      target: 'p50 <= 60 ms',
      met: a <= 60,
    },
    await largeCommit(bench, fleet, manager),
  ];
}

/** How long polls wait while a commit that changes all ten thousand apps is applied. */
async function largeCommit(bench: Bench, fleet: Fleet, manager: Manager): Promise<Line> {
  const idle = await pollDuring(bench, manager, () => sleep(2000));
  const busy = await pollDuring(bench, manager, async () => {
    await importFiles(fleet.folder, allApps(fleet, 7000));
    // Frequent polls would take the core that the manager needs.
    const taken = await timed(() => waitUntilServed(manager, 499, 'service-9999:1.7000.0', 50));
    bench.say(`a commit of ${fleet.apps} files was served after ${ms(taken)}`);
    // The log of the pass, the record of ids and the checkpoint of the store follow.
    await sleep(3000);
  });
  return {
    row: 'longest poll while 10,000 files are applied',
    measured: `max ${ms(percentile(busy, 1))}, p99 ${ms(percentile(busy, 0.99))}`,
    baseline: `max ${ms(percentile(idle, 1))}, p99 ${ms(percentile(idle, 0.99))} at rest`,
    ratio: times(percentile(busy, 0.99) / percentile(idle, 0.99)),
    target: 'max <= 150 ms',
    met: percentile(busy, 1) <= 150,
  };
}

function* allApps(fleet: Fleet, version: number): Generator<[string, string]> {
  for (let index = 0; index < fleet.apps; index++) yield [appPath(index), appText(index, version)];
}

/** Polls one group every few milliseconds during the work. Resolves to the milliseconds of each poll. */
async function pollDuring(bench: Bench, manager: Manager, work: () => Promise<unknown>): Promise<number[]> {
  const stopPolling = startPolling(bench, manager.address, `/api/v2/device_groups/${groupName(0)}/info`, 3);
  await work();
  return stopPolling();
}
