import { hash } from 'node:crypto';
import { Holders } from '../../desired/holders.ts';
import { keyOf, parseKey } from '../../protocol/name.ts';
import { pollTag } from '../../protocol/poll.ts';
import type { GroupInfo } from '../../store/objects/port.ts';

/** A ready-made reply to `/info`. */
export interface InfoEntry {
  group: string;
  body: Buffer;
  /** Strong entity tag, with its quotes; see `pollTag`. */
  etag: string;
  /** The revision that was applied when the store was last known to give this reply; null before the first one. */
  revision: string | null;
}

/** A reply in the cache, and whether it is right. */
export interface Cached extends InfoEntry {
  apps: readonly string[];
  /** Whether an object that it shows has changed since. */
  isStale: boolean;
  /** How many changes had been announced when it was read. */
  epoch: number;
  /** The number of the last read of the store's state that had begun when it was read. */
  check: number;
}

/** The entries of the cache by group. They can also be found by app. */
export interface Entries {
  get(group: string): Cached | undefined;
  /** Returns the keys of all groups with an entry. */
  keys(): string[];
  keep(group: string, entry: Cached): void;
  forget(group: string): void;
  /**
   * Marks the entries that show the object with this key as stale. They are kept as the last good replies, for while the
   * store is unavailable.
   */
  expire(key: string): void;
}

export function createEntries(): Entries {
  const entries = new Map<string, Cached>();
  const groupsByApp = new Holders();

  const forget = (group: string): void => {
    for (const app of entries.get(group)?.apps ?? []) groupsByApp.remove(app, group);
    entries.delete(group);
  };
  const keep = (group: string, entry: Cached): void => {
    forget(group);
    entries.set(group, entry);
    for (const app of entry.apps) groupsByApp.add(app, group);
  };
  const expire = (key: string): void => {
    const { kind, name } = parseKey(key);
    if (kind === 'device') return;
    for (const group of kind === 'device_group' ? [name] : groupsByApp.of(name)) {
      const entry = entries.get(group);
      if (entry !== undefined) entry.isStale = true;
    }
  };
  const keys = (): string[] => Array.from(entries.keys(), (group) => keyOf('device_group', group));
  return { get: (group) => entries.get(group), keys, keep, forget, expire };
}

/** Written field by field: a spread would give each entry a shape of its own, which costs each poll a microsecond. */
export function createEntry(
  info: GroupInfo,
  text: string,
  { isStale, epoch, check }: Pick<Cached, 'isStale' | 'epoch' | 'check'>,
): Cached {
  const { name: group, content } = info.group;
  const body = Buffer.from(text);
  const etag = pollTag(info.fleet, info.idSequence, hash('sha256', body, 'base64url').slice(0, 27));
  return { group, body, etag, revision: info.revision, apps: content.apps, isStale, epoch, check };
}
