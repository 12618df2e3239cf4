import type { Bench } from './bench.ts';
import { AUTHORIZATION } from './manager.ts';
import { askHelper, startHelper } from './process.ts';

/** A load on one server: each connection repeats its share of the requests. */
export interface Load {
  address: string;
  requests: readonly LoadRequest[];
  headers?: Readonly<Record<string, string>>;
  connections?: number;
  /** In seconds; ignored if `amount` is set. */
  duration?: number;
  /** The number of requests. */
  amount?: number;
}

interface LoadRequest {
  /** The default is GET. */
  method?: string;
  path: string;
  body?: string;
  /** Beside those of the load. */
  headers?: Readonly<Record<string, string>>;
}

interface LoadResult {
  /** Requests a second. */
  rate: number;
  /** Milliseconds. */
  p99: number;
}

/** Sends a load from a process of its own. Rejects if a reply is missing or has a status that is not in `statuses`. */
export async function sendLoad(
  bench: Bench,
  load: Load,
  statuses: readonly string[] = ['200'],
): Promise<LoadResult> {
  const { connections = 50 } = load;
  const headers = { ...OWN_HEADERS, ...load.headers };
  const input = JSON.stringify({ ...load, connections, headers });
  const result = await askHelper<Result>(bench, 'load', [], input);
  const wrong = Object.keys(result.statusCodeStats).filter((status) => !statuses.includes(status));
  if (result.errors > 0 || result.timeouts > 0 || wrong.length > 0)
    throw new Error(
      `${load.address}: ${result.errors} errors, ${result.timeouts} timeouts, statuses ${wrong.join(', ')}`,
    );
  return { rate: result.requests.total / result.duration, p99: result.latency.p99 };
}

/** Requests each path once, one after another, from a process of its own. Resolves to the milliseconds of each reply. */
export function sendEach(bench: Bench, address: string, paths: readonly string[]): Promise<number[]> {
  return askHelper(bench, 'client', [JSON.stringify({ address, paths, headers: OWN_HEADERS })]);
}

/**
 * Polls one path from a process of its own, with `pause` milliseconds in between. The returned function ends this, and resolves to
 * the milliseconds of each reply.
 */
export function startPolling(
  bench: Bench,
  address: string,
  path: string,
  pause: number,
): () => Promise<number[]> {
  const args = JSON.stringify({ address, paths: [path], headers: OWN_HEADERS, pause });
  const child = startHelper(bench, 'client', [args]);
  return async () => {
    child.process.stdin?.end();
    await child.ended;
    return JSON.parse(child.output()) as number[];
  };
}

const OWN_HEADERS = { authorization: AUTHORIZATION };

interface Result {
  errors: number;
  timeouts: number;
  duration: number;
  statusCodeStats: Record<string, unknown>;
  requests: { total: number };
  latency: { p99: number };
}
