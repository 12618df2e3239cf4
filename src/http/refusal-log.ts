import type { FastifyBaseLogger, FastifyRequest } from 'fastify';
import { createThrottle } from '../log/throttle.ts';

/** A refused request of somebody who could send any number of them. */
export interface Refusal {
  method: string;
  url: string;
  status: number;
  /** The address that it came from. */
  address: string;
  /** What failed; only if the status is 500 or above. */
  reason?: string;
}

/** Counts refusals, and logs them rarely: whoever causes them must not be able to fill the disk with the log. */
export interface RefusalLog {
  add(refusal: Refusal): void;
  /** Logs what was counted since the last line. */
  close(): void;
}

/** How many characters of a URL are logged. */
const MAX_URL_LENGTH = 200;
/** How many addresses are counted one by one, and how many of them are logged. */
const MAX_ADDRESSES = 1000;
const MAX_LOGGED = 10;

/** Returns the URL of a request for the log, without its end if it is long. */
export function loggedUrl({ url }: Pick<FastifyRequest, 'url'>): string {
  return url.length > MAX_URL_LENGTH ? `${url.slice(0, MAX_URL_LENGTH)}…` : url;
}

/**
 * Creates the log of refusals. The first is logged at once; those that follow, with the first one after a minute. `now` returns
 * Unix milliseconds.
 */
export function createRefusalLog(logger: FastifyBaseLogger, now: () => number): RefusalLog {
  const throttle = createThrottle(now);
  let counts = newCounts();

  const write = (): void => {
    const { last, statuses, addresses } = counts;
    counts = newCounts();
    if (last === null) return;
    const byCount = [...addresses].sort(([, a], [, b]) => b - a);
    const facts = {
      refused: sum(statuses.values()),
      statuses: Object.fromEntries(statuses),
      addresses: Object.fromEntries(byCount.slice(0, MAX_LOGGED)),
      from_others: sum(byCount.slice(MAX_LOGGED).map(([, count]) => count)),
      last,
    };
    logger.info(facts, 'requests were refused');
  };

  return {
    add: (refusal) => {
      const { statuses, addresses } = counts;
      const { status, address } = refusal;
      counts.last = refusal;
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      const counted = addresses.size < MAX_ADDRESSES || addresses.has(address) ? address : 'others';
      addresses.set(counted, (addresses.get(counted) ?? 0) + 1);
      if (throttle.count('refused') !== null) write();
    },
    close: write,
  };
}

function newCounts() {
  return {
    statuses: new Map<number, number>(),
    addresses: new Map<string, number>(),
    last: null as Refusal | null,
  };
}

function sum(numbers: Iterable<number>): number {
  return [...numbers].reduce((total, number) => total + number, 0);
}
