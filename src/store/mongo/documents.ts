import type { Kind } from '../../desired/name.ts';
import type { ContentsObject } from '../contents.ts';
import type { OperationRow } from '../operation-page.ts';
import type { ReportQuery } from '../report.ts';
import type { HistoryPoint } from '../store.ts';

/**
 * What the store asks of a database, and nothing more: each method is one command, or several where it says so.
 * The driver implements it, and so does the model of a database in the tests.
 *
 * What it may rely on is what MongoDB promises without transactions: a change of one document happens whole,
 * `_id` is unique, and while `term` stays the same, a read sees every change that was acknowledged before. A call that
 * rejects as `unavailable` may have happened.
 */
export interface Documents {
  /** Resolves when the database answers. */
  ping(): Promise<void>;
  /**
   * Another number as soon as another server may answer. A new primary has all that was acknowledged, and guards look
   * at that; but until it has heard of the other members, reads can show less than the one before it showed.
   */
  term(): number;
  readHead<H extends Head>(id: HeadId): Promise<H | null>;
  /** Replaces the head where its version is `version`; resolves to whether it was. */
  swapHead<H extends Head>(version: number, next: H): Promise<boolean>;
  /** Marks the head as settled, where its version is `version`. */
  settleHead(id: HeadId, version: number): Promise<void>;

  /** The lease; null where nobody has made one. */
  readLease(): Promise<LeaseDocument | null>;
  /** Replaces the lease where its version is `version`; resolves to whether it was. */
  swapLease(version: number, next: LeaseDocument): Promise<boolean>;

  /** Puts changes down that are too many for their head; several commands. */
  stage(changes: readonly StagedChange[]): Promise<void>;
  staged(writer: string): Promise<Change[]>;
  /** Drops what was staged for versions up to `version`. */
  dropStaged(head: HeadId, version: number): Promise<void>;
  /**
   * Brings each change to its place: a document only where the one there has a lower version, an entry or a report
   * only where there is none. Not atomic, in no order.
   */
  put(changes: readonly Change[]): Promise<void>;

  /** The documents with these ids that are there; several commands where they are many. */
  objects(ids: readonly string[]): Promise<ObjectDocument[]>;
  /** The documents with a version above `version`, not of one moment. */
  objectsSince(version: number, scan?: ObjectScan): Promise<ObjectDocument[]>;
  /** Entries with an id below `before`, newest first. */
  operations(before: number, limit: number): Promise<OperationDocument[]>;
  /** Reports that match, in ascending order of `_id`, from after `query.after`. */
  reports(query: ReportQuery, limit: number): Promise<FoundReports>;
  /** Drops some reports that arrived before `before`; resolves to how many, 0 when there are none left. */
  expireSomeReports(before: number): Promise<number>;
  close(): Promise<void>;
}

/** What a scan of objects leaves out; by default nothing. */
export interface ObjectScan {
  kind?: Kind;
  /** Only documents with a counter that changed after this id sequence. */
  countersAfter?: number;
  /** Without contents and origins, which are then not there. */
  withoutContents?: boolean;
}

export type HeadId = 'fleet' | 'reports';

/**
 * The one document whose replacement is a write. Its changes belong to the version from that moment on; they are
 * brought to their places afterwards, by whoever comes first.
 */
export interface Head {
  _id: HeadId;
  /** Counts writes. */
  version: number;
  /** Who made this version: a random text, made anew for each write. */
  writer: string;
  /** The writers of the last versions, newest first. */
  recent: string[];
  /** Whether all changes are in their places. */
  isSettled: boolean;
  /** The changes; null where they are staged under the writer. */
  changes: Change[] | null;
}

/** The head of everything that devices are told. */
export interface FleetHead extends Head {
  _id: 'fleet';
  /** See `StoreState`. */
  fleet: string;
  sequence: number;
  claimed: string | null;
  attempted: { revision: string; at: number } | null;
  applied: { revision: string; at: number } | null;
  rules: string | null;
  seededFrom: HistoryPoint | null;
  floorOfOthers: number;
  idSequence: number;
  /** Counters that changed before count as changed at this id sequence. */
  allChanged: number;
  lastOid: string | null;
}

/** The head of the reports that came through the API. */
export interface ReportsHead extends Head {
  _id: 'reports';
  /** The highest `_id` that was given to a report; those above it are not all there yet. */
  lastOid: string | null;
}

/** Who asks origin by the clock (see `PollLease`). */
export interface LeaseDocument {
  _id: 'poll';
  /** Counts renewals and changes of the holder. */
  version: number;
  /** `id` is a random text of its process, `interval` the milliseconds between its looks. */
  holder: { id: string; name: string; interval: number } | null;
}

export type Change =
  | { in: 'objects'; document: ObjectDocument }
  | { in: 'operations'; document: OperationDocument }
  | { in: 'reports'; document: ReportDocument };

export interface StagedChange {
  _id: string;
  head: HeadId;
  /** The version that it is to be part of. */
  version: number;
  writer: string;
  change: Change;
}

/** An app or a group with its counters. It is never deleted: the counters outlive the object. */
export interface ObjectDocument extends Omit<ContentsObject, 'key'> {
  /** `keyOf` its kind and name. */
  _id: string;
  /** The version of the head that wrote it. */
  version: number;
}

/** `_id` is the version that it was written with. */
export interface OperationDocument extends Omit<OperationRow, 'id'> {
  _id: number;
}

/** A report that came through the API. The fields beside `body` are there to be searched. */
export interface ReportDocument {
  /** 24 hex digits. */
  _id: string;
  hostname: string;
  device_group: string;
  report_creation_time: number;
  updated?: boolean;
  holdfast: {
    /** Unix milliseconds. */
    arrived: number;
    /** The report as it was sent: JSON. */
    body: string;
  };
}

/**
 * The first reports of a query; `isCut` where they have so many bytes that fewer than asked for were read, though there
 * are more.
 */
export interface FoundReports {
  rows: FoundReport[];
  isCut: boolean;
}

/** A report that was found; `isOurs` tells those that came through the API. */
export interface FoundReport {
  oid: string;
  isOurs: boolean;
  report: unknown;
}
