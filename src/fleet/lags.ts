import type { HistoryStore } from '../store/history/port.ts';
import type { Served } from '../store/served.ts';
import { lacksOwn, missingOf } from './state.ts';

/** How far a device of a group is behind. */
export interface Lag {
  /** When the first change that it lacks was applied, Unix milliseconds; null if that is not known. */
  since: number | null;
  /** The revision that was applied last before that; null if that is not known. */
  revision: string | null;
}

/** Finds out since when devices are behind. */
export interface Lags {
  /** `order` is what this device of this group has reached; there must be a change that it lacks. */
  of(device: string, group: string, order: number, served: Served): Promise<Lag>;
}

/** The most answers that are kept. They stay true: the first change after an order is always the same one. */
const MOST_KEPT = 10_000;

const UNKNOWN: Lag = { since: null, revision: null };

/** Reads lags from the history. `catchUp` resolves once it has all that was applied before the call. */
export function createLags(
  history: Pick<HistoryStore, 'firstSince' | 'revisionBefore'>,
  catchUp: () => Promise<unknown>,
): Lags {
  const kept = new Map<string, Lag>();
  return {
    of: async (device, group, order, served) => {
      const own = lacksOwn(device, order, served) ? device : '';
      const key = `${served.fleet} ${group} ${order} ${own}`;
      const known = kept.get(key);
      if (known !== undefined) return known;
      const objects = objectsOf(missingOf(device, group, order, served));
      const read = () => history.firstSince(order, objects);
      const first = (await read()) ?? (await catchUp().then(read));
      if (first?.appliedAt == null || first.idSequence === null) return UNKNOWN;
      const lag = { since: first.appliedAt, revision: await history.revisionBefore(first.idSequence) };
      if (kept.size >= MOST_KEPT) kept.clear();
      kept.set(key, lag);
      return lag;
    },
  };
}

/** In the history, a prune is a change of its group. */
function objectsOf(missing: readonly string[]): string[] {
  return [...new Set(missing.map((key) => key.replace(/^prune\//, 'device_group/')))];
}
