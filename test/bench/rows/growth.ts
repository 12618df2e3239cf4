import type { Bench, Line } from '../bench.ts';
import { makeFleet } from '../fleet.ts';
import { sendLoad } from '../load.ts';
import { startManager } from '../manager.ts';
import { median, ms, perSecond, timed, times } from '../statistics.ts';
import { infoPath } from './info.ts';
import { measureServed } from './served.ts';
import { writeOnce } from './writes.ts';

const WRITES = 16;

interface Figures {
  /** Milliseconds, medians. */
  served: number;
  look: number;
  write: number;
  commit: number;
  /** Polls a second. */
  rate: number;
}

/** From a thousand apps to a hundred thousand: what grows, beside what git's own commands do. */
export async function growth(bench: Bench): Promise<Line[]> {
  const small = await measureSize(bench, 1000);
  const large = await measureSize(bench, 100_000);
  const factor = (name: keyof Figures): number => large[name] / small[name];
  return [
    {
      row: 'commit -> served, 1 of 100,000 apps',
      measured: `p50 ${ms(large.served)}`,
      baseline: ms(large.look),
      ratio: times(large.served / large.look),
      target: 'p50 <= 250 ms',
      met: large.served <= 250,
    },
    growthLine('commit -> served', small.served, large.served, factor('served'), factor('commit')),
    growthLine('API write', small.write, large.write, factor('write'), factor('commit')),
    {
      row: '1,000 -> 100,000 apps: /info rate',
      measured: perSecond(large.rate),
      baseline: perSecond(small.rate),
      ratio: times(factor('rate')),
      target: '>= 0.90',
      met: factor('rate') >= 0.9,
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

async function measureSize(bench: Bench, apps: number): Promise<Figures> {
  const fleet = await makeFleet(bench, apps, apps / 20);
  const start = performance.now();
  const manager = await startManager(bench, { folder: fleet.folder });
  bench.say(`the first start on ${apps} apps took ${ms(performance.now() - start)}`);
  await measureServed(fleet, manager, 0, 3);
  const figures = await measureServed(fleet, manager, 10, 12);
  const writes: number[] = [];
  for (let index = 0; index < WRITES; index++) writes.push(await timed(() => writeOnce(manager, index)));
  const load = { address: manager.address, requests: [{ path: infoPath(0) }], duration: 4 };
  await sendLoad(bench, { ...load, duration: 1 });
  const { rate } = await sendLoad(bench, load);
  await manager.stop();
  return {
    served: median(figures.ours),
    look: median(figures.theirs),
    commit: median(figures.commits),
    write: median(writes.slice(4)),
    rate,
  };
}
