import type { Follower } from '../../reconcile/follower.ts';
import type { DeviceReads, GroupInfo } from '../../store/objects/port.ts';
import { type Cached, createEntries, createEntry, type InfoEntry } from './entries.ts';

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

/** What the cache needs. */
export interface InfoCacheDependencies {
  store: Pick<DeviceReads, 'groupInfo'>;
  follower: Pick<Follower, 'check' | 'isFresh' | 'latest' | 'lastStarted'>;
  /** Whether every caller gets a reply that was read, or compared with the store, after its call. */
  isOff: boolean;
  /** Resolves to the body of a reply. */
  render(info: GroupInfo): Promise<string>;
  /** Resolves when a device has waited for the store long enough. */
  storeTimeout(): Promise<void>;
}

export function createInfoCache(options: InfoCacheDependencies): InfoCache {
  const { follower, isOff, storeTimeout } = options;
  const entries = createEntries();
  let epoch = 0;

  /** Returns the entry if it is right, with the applied revision if a read of the state later than the entry has found it. */
  const current = (group: string): Cached | null => {
    const entry = entries.get(group);
    if (entry === undefined || entry.isStale) return null;
    const { number, revision } = follower.latest();
    if (number > entry.check) entry.revision = revision;
    return entry;
  };

  const make = async (group: string): Promise<InfoEntry | null> => {
    const epochBefore = epoch;
    const found = await readGroup(options, group);
    // An entry that was read before a change must not replace one that was read after it.
    const isOvertaken = (entries.get(group)?.epoch ?? 0) > epochBefore;
    if (found === null) {
      if (!isOvertaken) entries.forget(group);
      return null;
    }
    const entry = createEntry(found.info, found.text, {
      // Nor is it served again if a change was announced meanwhile.
      isStale: epochBefore !== epoch,
      epoch: epochBefore,
      check: follower.lastStarted(),
    });
    if (!isOvertaken) entries.keep(group, entry);
    return entry;
  };

  const renew = async (group: string): Promise<InfoEntry | null> => {
    await follower.check();
    return current(group) ?? make(group);
  };

  const renewShared = isOff ? renew : shareCalls(renew, () => epoch);

  const ready = (group: string): InfoEntry | null => (follower.isFresh() ? current(group) : null);

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
