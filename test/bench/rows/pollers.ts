import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Line } from '../bench.ts';
import { makeFleet } from '../fleet.ts';
import { AUTHORIZATION, startManager } from '../manager.ts';
import { startHelper } from '../process.ts';
import { ms } from '../statistics.ts';
import { infoPath } from './info.ts';

const DEVICES = 9000;

interface PollResult {
  polls: number;
  errors: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
}

/** Nine thousand devices that keep their connections and poll every ten seconds. */
export async function pollers(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 4, 1);
  const manager = await startManager(bench, { folder: fleet.folder });
  await manager.request('GET', infoPath(0));
  await sleep(1000);
  const before = await manager.memory();
  const seconds = bench.isLong ? 300 : 25;
  const args = [new URL(manager.address).port, AUTHORIZATION, infoPath(0), String(DEVICES), String(seconds)];
  const child = startHelper(bench, 'pollers', args);
  await child.waitFor(/connected/);
  const [text] = await child.waitFor(/\{.*\}/);
  const after = await manager.memory();
  const { polls, errors, p50, p99 } = JSON.parse(text) as PollResult;
  const each = (after - before) / DEVICES / 1024;
  return [
    {
      row: '9,000 pollers, each every 10 s',
      measured: `${polls} polls, ${errors} errors, p50 ${ms(p50)}, p99 ${ms(p99)}, ${each.toFixed(1)} KB a connection`,
      baseline: '-',
      ratio: '',
      target: 'no error, p99 <= 50 ms, <= 40 KB',
      met: errors === 0 && p99 <= 50 && each <= 40,
    },
  ];
}
