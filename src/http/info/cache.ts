import type { GroupInfo } from '../../store/store.ts';
import { type Cached, createEntries, createEntry, type InfoEntry } from './entries.ts';
import { createStoreChecks, EXPIRED, type StoreCheck, type StoreCheckDependencies } from './store-checks.ts';

/** The replies to polls, kept in memory by group. */
export interface InfoCache {
  /**
   * Resolves to the reply for a group; null if there is no such group. While the store fails, or takes longer than
   * `storeTimeout`, this is the last good reply. Rejects if the store fails and there is none.
   */
  read(group: string): Promise<InfoEntry | null>;
  /** Returns the cached reply for a group; null if there is none, or if it is too old. */
  ready(group: string): InfoEntry | null;
  /** Announces a change of the objects with these keys, or of all if null. Replies that show them become stale. */
  invalidate(keys: Iterable<string> | null): void;
}

/** What the cache needs. `lifetime` is the greatest age of a reply, in milliseconds; 0 turns the cache off. */
export interface InfoCacheDependencies extends StoreCheckDependencies {
  /** Resolves to the body of a reply. */
  render(info: GroupInfo): Promise<string>;
  /** Resolves when a device has waited for the store long enough. */
  storeTimeout(): Promise<void>;
}

export function createInfoCache(options: InfoCacheDependencies): InfoCache {
  const { elapsed, lifetime, storeTimeout } = options;
  const entries = createEntries();
  const checks = createStoreChecks(options, entries.carryOver);
  let epoch = 0;

  const make = async (group: string, version: string): Promise<InfoEntry | null> => {
    const epochBefore = epoch;
    const until = elapsed() + lifetime;
    const found = await readGroup(options, group);
    // An entry that was read before a change must not replace one that was read after it.
    const isOvertaken = (entries.get(group)?.epoch ?? 0) > epochBefore;
    if (found === null) {
      if (!isOvertaken) entries.forget(group);
      return null;
    }
    // Nor is it served again if a change was announced meanwhile.
    const validity = epochBefore === epoch ? { until, version } : { until: EXPIRED, version: null };
    const entry = createEntry(found.info, found.text, {
      ...validity,
      epoch: epochBefore,
      check: checks.lastStarted(),
    });
    if (!isOvertaken) entries.keep(group, entry);
    return entry;
  };

  /** Prolongs the entry if the store still has the version from which it was made. Otherwise makes a new one. */
  const renew = async (group: string): Promise<InfoEntry | null> => {
    const entry = entries.get(group);
    const { version, until } = await checks.check();
    if (entry?.version !== version) return make(group, version);
    entry.until = until;
    return entry;
  };

  // If the cache is off, every caller gets a reply that was read after its call.
  const renewShared = lifetime === 0 ? renew : shareCalls(renew, () => epoch);

  const ready = (group: string): InfoEntry | null => {
    const entry = entries.get(group);
    return entry !== undefined && prolongIfCurrent(entry, checks.latest(), elapsed()) ? entry : null;
  };

  const renewOrServeStale = async (group: string): Promise<InfoEntry | null> => {
    const entry = entries.get(group);
    const renewed = renewShared(group);
    if (entry === undefined) return renewed;
    return Promise.race([renewed.catch(() => entry), storeTimeout().then(() => entry)]);
  };

  return {
    ready,
    read: async (group) => ready(group) ?? renewOrServeStale(group),
    invalidate: (keys) => {
      epoch += 1;
      for (const key of keys ?? entries.keys()) entries.expire(key);
    },
  };
}

/** Resolves to a group and the body of its reply; null if there is no such group. */
async function readGroup({ store, render }: InfoCacheDependencies, name: string) {
  const info = await store.groupInfo(name);
  return info === null ? null : { info, text: await render(info) };
}

/**
 * Prolongs an entry with the version of the latest check: it is valid as long as that check. Returns whether the entry can be
 * served as it is.
 */
function prolongIfCurrent(entry: Cached, latest: StoreCheck, now: number): boolean {
  if (entry.until <= now && entry.version === latest.version) entry.until = latest.until;
  return entry.until > now;
}

/** Shares a running call among its callers, except with those that come after a further change has been announced. */
function shareCalls<T>(
  make: (group: string) => Promise<T>,
  currentEpoch: () => number,
): (group: string) => Promise<T> {
  const running = new Map<string, { epoch: number; result: Promise<T> }>();
  return (group) => {
    const epoch = currentEpoch();
    const call = running.get(group);
    if (call?.epoch === epoch) return call.result;
    const result = make(group).finally(() => {
      if (running.get(group)?.result === result) running.delete(group);
    });
    running.set(group, { epoch, result });
    return result;
  };
}
