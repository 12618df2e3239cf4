import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { AUTHORIZATION } from './manager.ts';
import { startChild } from './process.ts';

const AUTOCANNON = createRequire(import.meta.url).resolve('autocannon');

/** A load on paths of one server, in turns. */
export interface Load {
  address: string;
  paths: readonly string[];
  headers?: Readonly<Record<string, string>>;
  connections?: number;
  /** Seconds. */
  duration: number;
}

interface LoadResult {
  /** Requests a second. */
  rate: number;
  /** Milliseconds. */
  p99: number;
}

/** Sends a load from a process of its own. Rejects where any reply is missing, or is none of the wanted statuses. */
export async function sendLoad(
  bench: Bench,
  load: Load,
  statuses: readonly string[] = ['200'],
): Promise<LoadResult> {
  const har = join(await bench.folder(), 'requests.har');
  const headers = Object.entries({ authorization: AUTHORIZATION, ...load.headers }).map(([name, value]) => ({
    name,
    value,
  }));
  const entries = load.paths.map((path) => ({
    request: { method: 'GET', url: load.address + path, headers },
  }));
  await writeFile(har, JSON.stringify({ log: { entries } }));
  const { connections = 50, duration, address } = load;
  const args = [
    AUTOCANNON,
    '-c',
    String(connections),
    '-d',
    String(duration),
    '--json',
    '--no-progress',
    '--har',
    har,
    address,
  ];
  const child = startChild(bench, process.execPath, args);
  if ((await child.ended) !== 0) throw new Error(child.output());
  const line =
    child
      .output()
      .split('\n')
      .find((text) => text.startsWith('{')) ?? '{}';
  const result = JSON.parse(line) as Result;
  const wrong = Object.keys(result.statusCodeStats).filter((status) => !statuses.includes(status));
  if (result.errors > 0 || result.timeouts > 0 || wrong.length > 0)
    throw new Error(
      `${address}: ${result.errors} errors, ${result.timeouts} timeouts, statuses ${wrong.join(', ')}`,
    );
  return { rate: result.requests.total / result.duration, p99: result.latency.p99 };
}

interface Result {
  errors: number;
  timeouts: number;
  duration: number;
  statusCodeStats: Record<string, unknown>;
  requests: { total: number };
  latency: { p99: number };
}
