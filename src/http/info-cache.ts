import { createHash } from 'node:crypto';
import { keyOf, parseKey } from '../desired/name.ts';
import type { GroupInfo } from '../store/store.ts';

/** A ready-made reply to `/info`. */
export interface InfoEntry {
  body: Buffer;
  /** Strong entity tag, with its quotes. */
  etag: string;
  /** The revision that was applied when it was read; null before the first one. */
  revision: string | null;
}

/** Ready-made replies by group, and how to make one. */
export interface InfoCache {
  /**
   * The reply for a group; null where there is no such group. While the store fails, or takes longer than
   * `patience`, the last good reply is given again; rejects only when there is none.
   */
  read(group: string): Promise<InfoEntry | null>;
  /** The reply that is ready and not too old; null where it has to be made. */
  ready(group: string): InfoEntry | null;
  /** Drops what the change of these objects makes wrong; null stands for all objects. */
  invalidate(keys: Iterable<string> | null): void;
}

/** What making replies needs. */
export interface InfoCacheDependencies {
  groupInfo(name: string): Promise<GroupInfo | null>;
  /** Names the state of the store: while it is the same, every reply that was made of it is right. */
  version(): Promise<string>;
  /** The body of a reply. */
  render(info: GroupInfo): string;
  /** Milliseconds that a reply may be old; 0 turns the cache off. */
  lifetime: number;
  /** Milliseconds that pass, whatever the clock on the wall does. */
  elapsed(): number;
  /** Resolves when a device has waited long enough for the store. */
  patience(): Promise<void>;
}

interface Cached extends InfoEntry {
  apps: readonly string[];
  /** Until when it is served without asking the store; `EXPIRED` where it has to be asked. */
  until: number;
  /** How many changes had been told when it was read. */
  epoch: number;
  /** The version of the store that it was made of; null where a change was told since. */
  version: string | null;
}

/** No integer, as no moment is one: V8 gives objects that change from one to the other another shape. */
const EXPIRED = Number.NEGATIVE_INFINITY;

export function createInfoCache(options: InfoCacheDependencies): InfoCache {
  const { elapsed, lifetime, patience } = options;
  const entries = createEntries();
  const looks = createLooks(options);
  let epoch = 0;

  const make = async (group: string, version: string): Promise<InfoEntry | null> => {
    const madeIn = epoch;
    const until = elapsed() + lifetime;
    const info = await options.groupInfo(group);
    // What was read before a change must not take the place of what was read after it.
    const isOvertaken = (entries.get(group)?.epoch ?? 0) > madeIn;
    if (info === null) {
      if (!isOvertaken) entries.forget(group);
      return null;
    }
    // Nor is it served after a change that was told meanwhile.
    const isStanding = madeIn === epoch;
    const entry = createEntry(info, options.render(info), {
      until: isStanding ? until : EXPIRED,
      epoch: madeIn,
      version: isStanding ? version : null,
    });
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

  // Without a cache, nobody is given what was read before the call.
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

/** Lets an entry be served on where the latest look found the store as it was made of it. */
function isFresh(entry: Cached, look: Look, now: number): boolean {
  if (entry.until <= now && entry.version === look.version) entry.until = look.until;
  return entry.until > now;
}

/** Entries by group, and which groups an app is in. */
function createEntries() {
  const entries = new Map<string, Cached>();
  const groupsOfApp = new Map<string, Set<string>>();

  const forget = (group: string): void => {
    for (const app of entries.get(group)?.apps ?? []) groupsOfApp.get(app)?.delete(group);
    entries.delete(group);
  };
  const keep = (group: string, entry: Cached): void => {
    forget(group);
    entries.set(group, entry);
    for (const app of entry.apps) {
      const groups = groupsOfApp.get(app) ?? new Set();
      groupsOfApp.set(app, groups.add(group));
    }
  };
  /** Entries that an object is in stay as the last good replies, for as long as the store does not answer. */
  const expire = (key: string): void => {
    const { kind, name } = parseKey(key);
    for (const group of kind === 'device_group' ? [name] : (groupsOfApp.get(name) ?? [])) {
      const entry = entries.get(group);
      if (entry === undefined) continue;
      entry.until = EXPIRED;
      entry.version = null;
    }
  };
  const keys = (): string[] => Array.from(entries.keys(), (group) => keyOf('device_group', group));
  return { get: (group: string) => entries.get(group), forget, keep, expire, keys };
}

/** A look at the version of the store, and until when it may be taken for the present one. */
interface Look {
  version: string;
  until: number;
}

interface Looks {
  latest(): Look;
  /** The latest one, or a new one where that is as old as a reply may be; one look serves all groups. */
  look(): Promise<Look>;
}

function createLooks({
  version,
  lifetime,
  elapsed,
}: Pick<InfoCacheDependencies, 'version' | 'lifetime' | 'elapsed'>): Looks {
  let latest: Look = { version: '', until: EXPIRED };
  let underWay: Promise<Look> | null = null;
  const lookAnew = async (): Promise<Look> => {
    const until = elapsed() + lifetime;
    latest = { version: await version(), until };
    return latest;
  };
  const look = async (): Promise<Look> => {
    if (lifetime === 0) return lookAnew();
    if (latest.until > elapsed()) return latest;
    underWay ??= lookAnew().finally(() => {
      underWay = null;
    });
    return underWay;
  };
  return { latest: () => latest, look };
}

/** Field by field: copied by spreading, each entry would get a shape of its own, and polls pay a microsecond for that. */
function createEntry(
  { apps, revision }: GroupInfo,
  text: string,
  { until, epoch, version }: Pick<Cached, 'until' | 'epoch' | 'version'>,
): Cached {
  const body = Buffer.from(text);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
  return { body, etag, revision, apps: apps.map(({ name }) => name), until, epoch, version };
}

/** Asks once for all who ask at the same time; after a change that was told meanwhile, anew. */
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
