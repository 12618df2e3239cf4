import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Line } from '../bench.ts';
import type { Fleet } from '../fleet.ts';
import { startPolling } from '../load.ts';
import { type Manager, peakMemory, startManager } from '../manager.ts';
import { makePast } from '../past.ts';
import { median, ms, percentile, perSecond, timed, times } from '../statistics.ts';
import { infoPath } from './info.ts';
import { writeOnce } from './writes.ts';

const APPS = 10_000;
const GROUPS = 500;
const MB = 1024 ** 2;
/** Milliseconds between two writes, and between two looks at the history. */
const PAUSE = 500;
/** The first of the writes at rest: a write that changes nothing makes no commit. */
const REST_WRITES = 1300;
/** Milliseconds of writes and polls at rest. */
const AT_REST = 10_000;

/**
 * The first start of a manager on an old repository, until its history is complete, with polls and writes meanwhile. `--long`
 * takes 100,000 commits.
 */
export async function backfill(bench: Bench): Promise<Line[]> {
  const commits = bench.isLong ? 100_000 : 5000;
  const fleet = await makePast(bench, APPS, GROUPS, commits);
  const git = await timed(() => readAll(fleet));
  const start = performance.now();
  const manager = await startManager(bench, { folder: fleet.folder });
  bench.say(`served after ${ms(performance.now() - start)}`);
  let taken = 0;
  const filling = await measureUse(bench, manager, 0, async () => {
    taken = await timed(() => waitUntilComplete(bench, manager, commits));
  });
  const peak = await peakMemory(manager.child.pid);
  const resting = await measureUse(bench, manager, REST_WRITES, () => sleep(AT_REST));
  await manager.stop();
  const again = await startManager(bench, { folder: fleet.folder, dataFolder: manager.dataFolder });
  await sleep(2000);
  const calm = await peakMemory(again.child.pid);
  const row = `backfill, ${commits.toLocaleString('en')} commits of ${APPS.toLocaleString('en')} apps`;
  return [
    {
      row,
      measured: `${ms(taken)}, ${perSecond((commits / taken) * 1000)}`,
      baseline: `${ms(git)} git log of the same`,
      ratio: times(taken / git),
      target: '',
      met: null,
    },
    useLine('polls during backfill', filling.polls, resting.polls, 'max <= 150 ms', 150),
    useLine('API writes during backfill', filling.writes, resting.writes, '', null),
    {
      row: 'peak memory of backfill',
      measured: `${Math.round(peak / MB)} MB`,
      baseline: `${Math.round(calm / MB)} MB, start without`,
      ratio: times(peak / calm),
      target: '<= 300 MB',
      met: peak <= 300 * MB,
    },
  ];
}

/** What reading the same differences costs git alone. */
async function readAll({ git }: Fleet): Promise<void> {
  await git(
    'log',
    '--first-parent',
    '--diff-merges=first-parent',
    '--raw',
    '--no-abbrev',
    '--format=%H %P %an %s',
    '--',
    'desired-state',
  );
}

async function waitUntilComplete(bench: Bench, manager: Manager, commits: number): Promise<void> {
  for (let seen = 0; ; ) {
    const reply = JSON.parse((await manager.request('GET', '/api/v2/history?page_size=1')).text);
    const { complete, total } = reply as { complete: boolean; total: number };
    if (complete && total >= commits) return;
    if (complete) throw new Error(`the history is complete with ${total} of ${commits} commits`);
    if (total - seen >= commits / 10) {
      seen = total;
      bench.say(`${total} commits indexed`);
    }
    await sleep(PAUSE);
  }
}

interface Use {
  /** Milliseconds of each. */
  polls: number[];
  writes: number[];
}

/** Polls and writes while something else happens; the first write is that of number `from`. */
async function measureUse(
  bench: Bench,
  manager: Manager,
  from: number,
  work: () => Promise<unknown>,
): Promise<Use> {
  const stopPolling = startPolling(bench, manager.address, infoPath(0), 3);
  const writes: number[] = [];
  let isOver = false;
  const writing = (async () => {
    while (!isOver) {
      writes.push(await timed(() => writeOnce(manager, from + (writes.length % REST_WRITES))));
      await sleep(PAUSE);
    }
  })();
  await work();
  isOver = true;
  await writing;
  return { polls: await stopPolling(), writes };
}

function useLine(row: string, busy: number[], rest: number[], target: string, max: number | null): Line {
  const [a, b] = [median(busy), median(rest)];
  return {
    row,
    measured: `p50 ${ms(a)}, p99 ${ms(percentile(busy, 0.99))}, max ${ms(percentile(busy, 1))}`,
    baseline: `p50 ${ms(b)}, p99 ${ms(percentile(rest, 0.99))}, max ${ms(percentile(rest, 1))} at rest`,
    ratio: times(a / b),
    target,
    met: max === null ? null : percentile(busy, 1) <= max,
  };
}
