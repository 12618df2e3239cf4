import type { Bench, Line } from '../bench.ts';
import { appName, makeFleet } from '../fleet.ts';
import { startManager } from '../manager.ts';
import { median, ms, percentile, timed, times } from '../statistics.ts';
import { writeOnce } from './writes.ts';

const APPS = 10_000;
const COUNT = 60;
const WARM_UP = 10;

/** A preview of an update, beside the same update, one after another. */
export async function dryRun(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, APPS, APPS / 20);
  const manager = await startManager(bench, { folder: fleet.folder });
  const preview = (index: number): Promise<unknown> => {
    const body = { container_image: `registry.example.com/written/service-${index}:2.${index}` };
    return manager.request('PUT', `/api/v2/apps/${appName(index * 7)}/update?dry_run=true`, body);
  };
  const [dry, real]: [number[], number[]] = [[], []];
  for (let index = 0; index < COUNT; index++) {
    dry.push(await timed(() => preview(index)));
    real.push(await timed(() => writeOnce(manager, index)));
  }
  const [previews, writes] = [dry.slice(WARM_UP), real.slice(WARM_UP)];
  const [a, b] = [median(previews), median(writes)];
  return [
    {
      row: 'dry run of an API write, 10,000 apps',
      measured: `p50 ${ms(a)}, p99 ${ms(percentile(previews, 0.99))}`,
      baseline: `${ms(b)} the write`,
      ratio: times(a / b),
      target: '<= 1.00',
      met: a <= b,
    },
  ];
}
