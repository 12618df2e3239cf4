import type { Bench, Line } from '../bench.ts';
import { type Fleet, makeFleet } from '../fleet.ts';
import { sendLoad } from '../load.ts';
import { type Manager, startManager } from '../manager.ts';
import { alternate, median, ms, perSecond, timed, times } from '../statistics.ts';
import { infoPath } from './info.ts';
import { measureServed } from './served.ts';
import { writeOnce } from './writes.ts';

const WRITES = 16;
/** Of the load on each manager, and the seconds of one. */
const ROUNDS = 5;
const DURATION = 3;

/** Medians, in milliseconds. */
interface Figures {
  served: number;
  /** Git's own commands for the same work as `served`. */
  gitCommands: number;
  write: number;
  commit: number;
}

/** How the times grow from a thousand apps to a hundred thousand, beside those of git's own commands. */
export async function growth(bench: Bench): Promise<Line[]> {
  const smallManager = await startWith(bench, 1000);
  const small = await measure(smallManager);
  const largeManager = await startWith(bench, 100_000);
  const large = await measure(largeManager);
  const [largeRate, smallRate] = await infoRates(bench, largeManager.manager, smallManager.manager);
  const factor = (name: keyof Figures): number => large[name] / small[name];
  return [
    {
      row: 'commit -> served, 1 of 100,000 apps',
      measured: `p50 ${ms(large.served)}`,
      baseline: ms(large.gitCommands),
      ratio: times(large.served / large.gitCommands),
      target: 'p50 <= 250 ms',
      met: large.served <= 250,
    },
    growthLine('commit -> served', small.served, large.served, factor('served'), factor('commit')),
    growthLine('API write', small.write, large.write, factor('write'), factor('commit')),
    {
      row: '1,000 -> 100,000 apps: /info rate',
      measured: perSecond(largeRate),
      baseline: perSecond(smallRate),
      ratio: times(largeRate / smallRate),
      target: '>= 0.90',
      met: largeRate / smallRate >= 0.9,
    },
  ];
}

function growthLine(what: string, small: number, large: number, ours: number, git: number): Line {
  return {
    row: `1,000 -> 100,000 apps: ${what}`,
    measured: `${ms(small)} -> ${ms(large)}, x ${times(ours)}`,
    baseline: `git's commit x ${times(git)}`,
    ratio: times(ours / git),
    target: '<= 1.00',
    met: ours <= git,
  };
}

interface FleetWithManager {
  fleet: Fleet;
  manager: Manager;
}

/** A manager that runs until the row is over; every group has 20 apps. */
async function startWith(bench: Bench, apps: number): Promise<FleetWithManager> {
  const fleet = await makeFleet(bench, apps, apps / 20);
  const start = performance.now();
  const manager = await startManager(bench, { folder: fleet.folder });
  bench.say(`the first start on ${apps} apps took ${ms(performance.now() - start)}`);
  return { fleet, manager };
}

async function measure({ fleet, manager }: FleetWithManager): Promise<Figures> {
  await measureServed(fleet, manager, 0, 3);
  const figures = await measureServed(fleet, manager, 10, 12);
  const writes: number[] = [];
  for (let index = 0; index < WRITES; index++) writes.push(await timed(() => writeOnce(manager, index)));
  return {
    served: median(figures.ours),
    gitCommands: median(figures.theirs),
    commit: median(figures.commits),
    write: median(writes.slice(4)),
  };
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
