import type { GroupInfo } from '../../store/store.ts';
import { type Cached, createEntries, createEntry, type InfoEntry } from './entries.ts';
import { createLooks, EXPIRED, type Look, type LookDependencies } from './looks.ts';

/** Ready-made replies by group, and how to make one. */
export interface InfoCache {
  /**
   * The reply for a group; null if there is no such group. While the store fails, or takes longer than `patience`, this
   * is the last good reply; rejects only if there is none.
   */
  read(group: string): Promise<InfoEntry | null>;
  /** The reply that is ready and not too old; null if it has to be made. */
  ready(group: string): InfoEntry | null;
  /** Announces a change of these objects: what shows them is stale. Null stands for all objects. */
  invalidate(keys: Iterable<string> | null): void;
}

/** What making replies needs; `lifetime` is how old one may be, and 0 turns the cache off. */
export interface InfoCacheDependencies extends LookDependencies {
  /** The body of a reply. */
  render(info: GroupInfo): Promise<string>;
  /** Resolves when a device has waited long enough for the store. */
  patience(): Promise<void>;
}

export function createInfoCache(options: InfoCacheDependencies): InfoCache {
  const { elapsed, lifetime, patience } = options;
  const entries = createEntries();
  const looks = createLooks(options, entries.carry);
  let epoch = 0;

  const readStore = async (group: string) => {
    const info = await options.store.groupInfo(group);
    return info === null ? null : { info, text: await options.render(info) };
  };

  const make = async (group: string, version: string): Promise<InfoEntry | null> => {
    const madeIn = epoch;
    const until = elapsed() + lifetime;
    const found = await readStore(group);
    // What was read before a change must not take the place of what was read after it.
    const isOvertaken = (entries.get(group)?.epoch ?? 0) > madeIn;
    if (found === null) {
      if (!isOvertaken) entries.forget(group);
      return null;
    }
    // Nor is it served after a change that was announced meanwhile.
    const holds = madeIn === epoch ? { until, version } : { until: EXPIRED, version: null };
    const entry = createEntry(found.info, found.text, { ...holds, epoch: madeIn, look: looks.begun() });
    if (!isOvertaken) entries.keep(group, entry);
    return entry;
  };

  /** The same entry for longer where the store is what it was made of; otherwise a new one. */
  const renew = async (group: string): Promise<InfoEntry | null> => {
    const entry = entries.get(group);
    const { version, until } = await looks.look();
    if (entry?.version !== version) return make(group, version);
    entry.until = until;
    return entry;
  };

  // Without a cache, every caller gets what was read after its call.
  const renewOnce = lifetime === 0 ? renew : shareCalls(renew, () => epoch);

  const ready = (group: string): InfoEntry | null => {
    const entry = entries.get(group);
    return entry !== undefined && isFresh(entry, looks.latest(), elapsed()) ? entry : null;
  };

  return {
    ready,
    read: async (group) => {
      if (ready(group) !== null) return ready(group);
      const entry = entries.get(group);
      const renewed = renewOnce(group);
      if (entry === undefined) return renewed;
      return Promise.race([renewed.catch(() => entry), patience().then(() => entry)]);
    },
    invalidate: (keys) => {
      epoch += 1;
      for (const key of keys ?? entries.keys()) entries.expire(key);
    },
  };
}

/**
 * Whether an entry may be served as it is. One of the version that the latest look found holds for as long as that
 * look.
 */
function isFresh(entry: Cached, look: Look, now: number): boolean {
  if (entry.until <= now && entry.version === look.version) entry.until = look.until;
  return entry.until > now;
}

/** Shares one call among callers at the same time; those after a change that was announced meanwhile get a new one. */
function shareCalls<T>(
  make: (group: string) => Promise<T>,
  currentEpoch: () => number,
): (group: string) => Promise<T> {
  const underWay = new Map<string, { epoch: number; result: Promise<T> }>();
  return (group) => {
    const epoch = currentEpoch();
    const known = underWay.get(group);
    if (known?.epoch === epoch) return known.result;
    const result = make(group).finally(() => {
      if (underWay.get(group)?.result === result) underWay.delete(group);
    });
    underWay.set(group, { epoch, result });
    return result;
  };
}
