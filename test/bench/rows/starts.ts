import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Line } from '../bench.ts';
import { type Fleet, makeFleet } from '../fleet.ts';
import { startManager } from '../manager.ts';
import { askHelper, startHelper } from '../process.ts';
import { alternate, ms, timed, times } from '../statistics.ts';

/**
 * The first start with ten thousand apps: all files are read, parsed and written to an empty store. The same after a loss
 * of the store, when the repository has a record of the ids.
 */
export async function coldStart(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 10_000, 500);
  const parse = async (): Promise<number> =>
    (await askHelper<{ ms: number }>(bench, 'parse-all', [join(fleet.folder, 'desired-state')])).ms;
  const startFirst = async (): Promise<number> => {
    // Each stop leaves a record of the ids, which a first start does not find.
    await removeRecord(fleet);
    return startAndStop(bench, fleet);
  };
  const [first, parsed] = await alternate(3, startFirst, parse);
  const [rebuilt, parsedAgain] = await alternate(3, () => startAndStop(bench, fleet), parse);
  const line = (row: string, ours: number, theirs: number): Line => ({
    row,
    measured: ms(ours),
    baseline: `${ms(theirs)} to parse`,
    ratio: times(ours / theirs),
    target: '<= 2.5',
    met: ours / theirs <= 2.5,
  });
  return [
    line('cold start, empty store, 10,000 apps', first, parsed),
    { ...line('the same after a loss of the store', rebuilt, parsedAgain), target: '', met: null },
  ];
}

/** Deletes all refs of the manager, which hold the record of the ids. */
async function removeRecord({ git }: Fleet): Promise<void> {
  const refs = (await git('for-each-ref', '--format=%(refname)', 'refs/holdfast/')).split('\n');
  for (const ref of refs.filter((name) => name !== '')) await git('update-ref', '-d', ref);
}

/** A start at which nothing has changed. */
export async function warmStart(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 10_000, 500);
  const dataFolder = join(await bench.folder(), 'data');
  await startAndStop(bench, fleet, dataFolder);
  const bare = (): Promise<number> =>
    timed(async () => {
      const child = startHelper(bench, 'bare-fastify');
      await child.waitFor(/listening/);
      void child.stop();
    });
  const [ours, theirs] = await alternate(5, () => startAndStop(bench, fleet, dataFolder), bare);
  return [
    {
      row: 'warm start, nothing changed, 10,000 apps',
      measured: ms(ours),
      baseline: `${ms(theirs)} bare fastify`,
      ratio: times(ours / theirs),
      target: '<= 1 s',
      met: ours <= 1000,
    },
  ];
}

/** Starts and stops a manager. Resolves to the milliseconds from the start until it is ready. */
async function startAndStop(bench: Bench, fleet: Fleet, dataFolder?: string): Promise<number> {
  const start = performance.now();
  const options = dataFolder === undefined ? {} : { dataFolder };
  const manager = await startManager(bench, { folder: fleet.folder, ...options });
  const taken = performance.now() - start;
  await manager.stop();
  await sleep(100);
  return taken;
}
