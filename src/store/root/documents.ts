import type { EntryKind } from '../../protocol/history.ts';
import type { Kind } from '../../protocol/name.ts';
import type { EntryQuery, HistoryState, Searched } from '../entry.ts';
import type { FleetObject, FleetState } from '../fleet.ts';

/**
 * The commands that the store sends to a database; each method is one command, unless it says otherwise. The driver
 * implements this interface, and so does the model of a database in the tests.
 *
 * The store relies only on what MongoDB promises without transactions: a change of one document is atomic, `_id` is
 * unique, and while `term` stays the same, a read sees every change that was acknowledged before. A call that rejects
 * as `unavailable` may have happened.
 */
export interface Documents {
  /**
   * A number that changes as soon as another server can answer. A new primary has every acknowledged write, and guards
   * are checked against these; but until it has heard from the other members, reads can show less than the old primary
   * showed.
   */
  term(): number;
  readRoot(): Promise<FleetRoot | null>;
  /** Replaces the root if its version is `version`; resolves to whether it did. */
  swapRoot(version: number, next: FleetRoot): Promise<boolean>;
  /** Marks the root as settled if its version is `version`. */
  settleRoot(version: number): Promise<void>;

  /** Stores changes that are too large for their root; several commands. */
  stage(changes: readonly StagedChange[]): Promise<void>;
  /** Reads the changes that this writer has staged. */
  staged(writer: string): Promise<Change[]>;
  /** Deletes the changes that were staged for versions up to `version`. */
  dropStaged(version: number): Promise<void>;
  /**
   * Writes each change to its document: of an object or an entry if the document has a lower version or does not exist,
   * of anything else if the document does not exist. Not atomic, in no particular order; several commands.
   */
  put(changes: readonly Change[]): Promise<void>;

  /** Reads the documents with these ids; a missing one is left out. Several commands for many ids. */
  objects(ids: readonly string[]): Promise<ObjectDocument[]>;
  /** Reads the documents with a version above `version`; writes in between can be visible in some of them. */
  objectsSince(version: number, scan?: ObjectScan): Promise<ObjectDocument[]>;
  /** Reads the rows of the first act with a number above `after`, in order; two commands. */
  nextAct(after: number): Promise<ActDocument[]>;
  /** Reads entries below `before` that match, newest first, and counts all that match; several commands. */
  entries(query: EntryQuery, before: number | null, limit: number): Promise<FoundEntries>;
  /** Reads an entry and its other parts, in order; two commands. */
  entry(n: number): Promise<FoundEntry | null>;
  /** Reads the first entry since this id sequence that has one of these keys; two commands. */
  entrySince(idSequence: number, keys: readonly string[]): Promise<ListedDocument | null>;
  /** Reads the last entry of these kinds before this id sequence. */
  entryBefore(idSequence: number, kinds: readonly EntryKind[]): Promise<ListedDocument | null>;
  /** Reads the entries with a key that begins so, and goes on with hexadecimal digits or not at all. */
  entriesByPrefix(prefix: string): Promise<EntryDocument[]>;
}

/** Limits what a scan of objects reads; by default nothing is left out. */
export interface ObjectScan {
  kind?: Kind;
  /** Only documents with a counter that changed after this id sequence. */
  countersAfter?: number;
  /** Leaves `content` and `origin` out of `stored`. */
  withoutContents?: boolean;
}

/**
 * The document whose replacement is a write. From that moment the changes belong to its version; they are settled, that
 * is, copied to their documents, before the next read or write.
 */
export interface FleetRoot extends FleetState {
  _id: 'fleet';
  /** Counts writes. */
  version: number;
  /** Identifies the write that made this version: a random text. */
  writer: string;
  /** The writers of the last versions, newest first. */
  recent: string[];
  /** Whether all changes have been copied to their documents. */
  isSettled: boolean;
  /** The changes of this version, none once they are settled; null if they are staged under the writer. */
  changes: readonly Change[] | null;
  history: HistoryState | null;
}

export type Change =
  | { in: 'objects'; document: ObjectDocument }
  | { in: 'acts'; document: ActDocument }
  /** Deletes the acts up to this number. */
  | { in: 'indexed'; document: { act: number } }
  | { in: 'entries'; document: EntryDocument }
  | { in: 'entry_parts'; document: EntryPartDocument };

export interface StagedChange {
  _id: string;
  /** The version that the change is meant for. */
  version: number;
  writer: string;
  change: Change;
}

/** An app or a group with its counters. It is never deleted: the counters outlive the object. */
export interface ObjectDocument extends FleetObject {
  /** `keyOf` its kind and name. */
  _id: string;
  /** The version of the root that wrote it. */
  version: number;
}

/** A row of an act. `number` is the version that it was written with. */
export interface ActDocument {
  _id: string;
  number: number;
  part: number;
  /** JSON. */
  body: string;
}

/** An entry of the history; `_id` is its number. */
export interface EntryDocument extends Searched {
  _id: number;
  /** The version of the root that wrote it. */
  version: number;
  kind: EntryKind;
  at: number;
  /** `Entry.idSequence`. */
  idSequence: number | null;
  /** What a list shows: JSON. */
  body: string;
}

/** The rest of a long entry, in parts that count up from 1. */
export interface EntryPartDocument extends Searched {
  _id: string;
  n: number;
  part: number;
  /** JSON. */
  body: string;
}

/** An entry as a list shows it. */
export type ListedDocument = Omit<EntryDocument, 'keys' | 'text'>;

/** Entries of a list, and how many match on all pages. */
export interface FoundEntries {
  documents: ListedDocument[];
  total: number;
}

export interface FoundEntry {
  document: EntryDocument;
  parts: Omit<EntryPartDocument, 'keys' | 'text'>[];
}

/** Returns the root of an empty store; `fleet` is the identity of its fleet. */
export function newFleetRoot(fleet: string): FleetRoot {
  return {
    _id: 'fleet',
    version: 0,
    writer: '',
    recent: [],
    isSettled: true,
    changes: [],
    fleet,
    sequence: 0,
    claimed: null,
    attempted: null,
    applied: null,
    rules: null,
    seededFrom: null,
    defaultFloor: 0,
    idSequence: 0,
    allChanged: 0,
    lastOid: null,
    history: null,
  };
}
