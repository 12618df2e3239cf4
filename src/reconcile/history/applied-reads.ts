import type { EntryKind } from '../../protocol/history.ts';
import { keyOf } from '../../protocol/name.ts';
import { appliedRevision, keys, type ListedEntry } from '../../store/entry.ts';
import type { HistoryStore } from '../../store/history/port.ts';
import { withKeys } from './range.ts';

/** A version that an app had: its id, and the id sequence and the revision with which it was given (null by an operation). */
interface AppVersion {
  id: number;
  idSequence: number;
  revision: string | null;
}

/** Reads of the history that say what devices have. */
export interface AppliedReads {
  /** Resolves to the newest entry with which this revision was applied, with all of its changes; null if there is none. */
  appliedEntry(revision: string): Promise<ListedEntry | null>;
  /** Resolves to the newest entry of a revision as lists have it; null if there is none. */
  entryOf(revision: string): Promise<ListedEntry | null>;
  /** Resolves to the number of the newest entry of one of these kinds; null if there is none. */
  newest(kinds: readonly EntryKind[]): Promise<number | null>;
  /** See `HistoryStore.firstSince`. */
  firstSince: HistoryStore['firstSince'];
  /** Resolves to the ids that an app had, newest first: those of its last 100 entries. */
  versionsOf(app: string): Promise<AppVersion[]>;
}

/** The most entries of one revision or app that are looked at. */
const MOST_ENTRIES = 100;

/** `catchUp` resolves once the history has all that was applied before the call. */
export function createAppliedReads(store: HistoryStore, catchUp: () => Promise<unknown>): AppliedReads {
  const ofRevision = (revision: string, limit: number) =>
    store.entries(withKeys([keys.revision(revision)]), null, limit).then(({ entries }) => entries);
  return {
    appliedEntry: async (revision) => {
      await catchUp();
      const applied = (await ofRevision(revision, MOST_ENTRIES)).find(
        ({ idSequence }) => idSequence !== null,
      );
      return applied === undefined ? null : store.entry(applied.n);
    },
    entryOf: async (revision) => (await ofRevision(revision, 1))[0] ?? null,
    newest: async (kinds) => {
      const query = { keys: [], kinds, since: null, until: null, text: null };
      return (await store.entries(query, null, 1)).entries[0]?.n ?? null;
    },
    firstSince: (idSequence, objects) => store.firstSince(idSequence, objects),
    versionsOf: (app) => catchUp().then(() => versionsOf(keyOf('app', app), store)),
  };
}

async function versionsOf(object: string, store: HistoryStore): Promise<AppVersion[]> {
  const { entries } = await store.entries(withKeys([keys.object(object)]), null, MOST_ENTRIES);
  const versions: AppVersion[] = [];
  for (const listed of entries) {
    const { idSequence } = listed;
    if (idSequence === null) continue;
    const isCut = !listed.changes.some((change) => change.object === object);
    const entry = isCut ? ((await store.entry(listed.n)) ?? listed) : listed;
    const id = entry.changes.find((change) => change.object === object)?.ids?.['app_id'];
    if (id !== undefined) versions.push({ id, idSequence, revision: appliedRevision(entry) });
  }
  return versions;
}
