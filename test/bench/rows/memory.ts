import { setTimeout as sleep } from 'node:timers/promises';
import type { Bench, Line } from '../bench.ts';
import { appName, makeFleet } from '../fleet.ts';
import { sendLoad } from '../load.ts';
import { type Manager, residentMemory, startManager } from '../manager.ts';
import { startHelper } from '../process.ts';
import { times } from '../statistics.ts';
import { infoPath } from './info.ts';

const MEGABYTE = 1024 * 1024;

/** Memory with ten thousand apps: at rest, and whether it grows during polls and writes. */
export async function memory(bench: Bench): Promise<Line[]> {
  const fleet = await makeFleet(bench, 10_000, 500);
  const bare = startHelper(bench, 'bare-fastify');
  await bare.waitFor(/listening/);
  const first = await startManager(bench, { folder: fleet.folder });
  const { dataFolder } = first;
  await sleep(3000);
  const cold = await first.memory();
  await first.stop();
  const manager = await startManager(bench, { folder: fleet.folder, dataFolder });
  await sleep(3000);
  const [rest, least] = [await manager.memory(), await residentMemory(bare.pid)];
  const seconds = bench.isLong ? 600 : 30;
  await poll(bench, manager, seconds / 2);
  const half = await manager.memory();
  await poll(bench, manager, seconds / 2);
  const end = await manager.memory();
  const mb = (bytes: number): string => `${(bytes / MEGABYTE).toFixed(0)} MB`;
  return [
    {
      row: 'memory at rest, 10,000 apps in 500 groups',
      measured: `${mb(rest)} (${mb(cold)} after the first start)`,
      baseline: `${mb(least)} bare fastify`,
      ratio: times(rest / least),
      target: '<= 300 MB',
      met: rest <= 300 * MEGABYTE,
    },
    {
      row: `memory after ${seconds} s of polls and writes`,
      measured: mb(end),
      baseline: `${mb(half)} after half of it`,
      ratio: times(end / half),
      target: bench.isLong ? '<= 300 MB, no growth (<= 1.05)' : 'see --long',
      met: bench.isLong ? end <= 300 * MEGABYTE && end / half <= 1.05 : null,
    },
  ];
}

/** Polls all groups one after another, as fast as possible, and makes five writes a second. */
async function poll(bench: Bench, manager: Manager, seconds: number): Promise<void> {
  let count = Math.floor(performance.now());
  let last: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    count += 1;
    const body = { env_vars: { COUNT: String(count) } };
    last = Promise.all([
      last,
      manager.request('PUT', `/api/v2/apps/${appName(count % 10_000)}/update`, body),
    ]);
  }, 200);
  const requests = Array.from({ length: 500 }, (_, group) => ({ path: infoPath(group) }));
  try {
    await sendLoad(bench, { address: manager.address, requests, duration: seconds });
  } finally {
    clearInterval(timer);
  }
  await last;
}
