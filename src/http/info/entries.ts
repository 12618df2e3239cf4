import { createHash } from 'node:crypto';
import { GroupsByApp } from '../../desired/groups-by-app.ts';
import { keyOf, parseKey } from '../../desired/name.ts';
import type { GroupInfo } from '../../store/store.ts';
import { EXPIRED, type Passage } from './looks.ts';

/** A ready-made reply to `/info`. */
export interface InfoEntry {
  body: Buffer;
  /** Strong entity tag, with its quotes. */
  etag: string;
  /** The revision that was applied when the store was last seen to say the same; null before the first one. */
  revision: string | null;
}

/** An entry, and how long it holds. */
export interface Cached extends InfoEntry {
  apps: readonly string[];
  /** Until when it is served without asking the store; `EXPIRED` where it has to be asked. */
  until: number;
  /** How many changes had been announced when it was read. */
  epoch: number;
  /** The number of the last look that had begun when it was read. */
  look: number;
  /** The version of the store that it is right for; null if a change was announced since. */
  version: string | null;
}

/** Entries by group, and which groups an app is in. */
export interface Entries {
  get(group: string): Cached | undefined;
  /** The keys of all groups that have one. */
  keys(): string[];
  keep(group: string, entry: Cached): void;
  forget(group: string): void;
  /**
   * Marks the entries that show this object as stale; they stay, as the last good replies while the store is
   * unavailable.
   */
  expire(key: string): void;
  /**
   * Expires the entries of what a passage changed, and lets the others hold for the state that it led to.
   */
  carry(passage: Passage): void;
}

export function createEntries(): Entries {
  const entries = new Map<string, Cached>();
  const groupsByApp = new GroupsByApp();

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
    for (const group of kind === 'device_group' ? [name] : groupsByApp.of(name)) {
      const entry = entries.get(group);
      if (entry === undefined) continue;
      entry.until = EXPIRED;
      entry.version = null;
    }
  };
  const carry = ({ from, to, changed }: Passage): void => {
    if (changed === null) return;
    for (const key of changed) expire(key);
    for (const entry of entries.values()) {
      // What was read while this look was under way may know more than the look.
      if (entry.version !== from.version || entry.look >= to.number) continue;
      entry.version = to.version;
      entry.revision = to.revision;
    }
  };
  const keys = (): string[] => Array.from(entries.keys(), (group) => keyOf('device_group', group));
  return { get: (group) => entries.get(group), keys, keep, forget, expire, carry };
}

/** Field by field: copied by spreading, each entry would get a shape of its own, and polls pay a microsecond for that. */
export function createEntry(
  { group, revision }: GroupInfo,
  text: string,
  { until, epoch, look, version }: Pick<Cached, 'until' | 'epoch' | 'look' | 'version'>,
): Cached {
  const body = Buffer.from(text);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
  return { body, etag, revision, apps: group.content.apps, until, epoch, look, version };
}
