import type { Bench, Line } from '../bench.ts';
import { DURABLE, makeBare, makeFleet } from '../fleet.ts';
import { sendLoad } from '../load.ts';
import { type Manager, startManager } from '../manager.ts';
import { alternate, median, ms, perSecond, timed, times } from '../statistics.ts';
import { infoPath } from './info.ts';
import { measureServed } from './served.ts';
import { commitFile, writeOnce } from './writes.ts';

const SMALL = 1000;
const LARGE = 50_000;
const WRITES = 16;
/** Those that are left out. */
const WARM_UP = 4;
/** Of the load on each manager, and the seconds of one. */
const ROUNDS = 5;
const DURATION = 3;

/** Medians, in milliseconds: what the manager does, and what git alone does for the same. */
interface Figures {
  served: number;
  commit: number;
  write: number;
  bareWrite: number;
  push: number;
}

/**
 * How times grow from a thousand apps to fifty thousand, beside those of git's own commands, right after the first start. With
 * `BENCH_OTHER`, the `main.js` of another build, also those of that build.
 */
export async function growth(bench: Bench): Promise<Line[]> {
  const other = process.env['BENCH_OTHER'];
  const [small, smallManager] = await measure(bench, SMALL);
  const [large, largeManager] = await measure(bench, LARGE);
  const [largeRate, smallRate] = await infoRates(bench, largeManager, smallManager);
  await Promise.all([smallManager.stop(), largeManager.stop()]);
  const lines = [
    ...growthLines('', small, large),
    {
      row: `${span()}: /info rate`,
      measured: perSecond(largeRate),
      baseline: perSecond(smallRate),
      ratio: times(largeRate / smallRate),
      target: '>= 0.90',
      met: largeRate / smallRate >= 0.9,
    },
  ];
  if (other === undefined) return lines;
  const [otherSmall] = await measure(bench, SMALL, other);
  const [otherLarge] = await measure(bench, LARGE, other);
  return [...lines, ...growthLines(', other build', otherSmall, otherLarge)];
}

function span(): string {
  return `${SMALL.toLocaleString('en')} -> ${LARGE.toLocaleString('en')} apps`;
}

function growthLines(build: string, small: Figures, large: Figures): Line[] {
  const line = (what: string, ours: keyof Figures, git: keyof Figures): Line => {
    const [growth, gits] = [large[ours] / small[ours], large[git] / small[git]];
    return {
      row: `${span()}: ${what}${build}`,
      measured: `${ms(small[ours])} -> ${ms(large[ours])}, x ${times(growth)}`,
      baseline: `git's ${git}: ${ms(small[git])} -> ${ms(large[git])}, x ${times(gits)}`,
      ratio: times(growth / gits),
      target: '<= 2.00',
      met: growth / gits <= 2,
    };
  };
  return [
    line('commit -> served', 'served', 'commit'),
    line('API write, work tree', 'write', 'commit'),
    line('API write, remote', 'bareWrite', 'push'),
  ];
}

/** Measures a manager of a work tree, which runs on, and one of a bare origin; every group has 20 apps. */
async function measure(bench: Bench, apps: number, main?: string): Promise<[Figures, Manager]> {
  const build = main === undefined ? {} : { main };
  const fleet = await makeFleet(bench, apps, apps / 20);
  const [origin, twin] = [await makeBare(bench, fleet), await makeBare(bench, fleet)];
  const start = performance.now();
  const manager = await startManager(bench, { folder: fleet.folder, ...build });
  bench.say(`the first start on ${apps} apps took ${ms(performance.now() - start)}`);
  await measureServed(fleet, manager, 0, 3);
  const { ours, commits } = await measureServed(fleet, manager, 10, 12);
  const write = await medianOf((index) => writeOnce(manager, index));
  const env = { GIT_REMOTE: origin, DESIRED_STATE: 'desired-state' };
  const remote = await startManager(bench, { folder: null, env, ...build });
  const bareWrite = await medianOf((index) => writeOnce(remote, index));
  await remote.stop();
  await fleet.git('remote', 'add', 'origin', twin);
  await fleet.git('fetch', '--quiet', 'origin');
  await fleet.git('checkout', '--quiet', '-B', 'pushed', 'origin/main');
  const push = await medianOf(async (index) => {
    await commitFile(fleet, index);
    await fleet.git(...DURABLE, 'push', '--quiet', 'origin', 'HEAD:main');
  });
  await fleet.git('checkout', '--quiet', 'main');
  const figures = { served: median(ours), commit: median(commits), write, bareWrite, push };
  bench.say(
    `${apps} apps: ${Object.entries(figures)
      .map(([name, value]) => `${name} ${ms(value)}`)
      .join(', ')}`,
  );
  return [figures, manager];
}

async function medianOf(work: (index: number) => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let index = 0; index < WRITES; index++) taken.push(await timed(() => work(index)));
  return median(taken.slice(WARM_UP));
}

/** The polls a second of both managers, measured alternately: other work on the machine would distort two single figures. */
async function infoRates(bench: Bench, large: Manager, small: Manager): Promise<[number, number]> {
  const rate =
    ({ address }: Manager, duration = DURATION) =>
    async (): Promise<number> =>
      (await sendLoad(bench, { address, requests: [{ path: infoPath(0) }], duration })).rate;
  await rate(large, 1)();
  await rate(small, 1)();
  return alternate(ROUNDS, rate(large), rate(small));
}
