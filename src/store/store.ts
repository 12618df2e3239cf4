import type { App } from '../desired/app.ts';
import type { DeviceGroup } from '../desired/device-group.ts';
import type { Kind, ObjectKey } from '../desired/name.ts';
import type { FileOrigin, Step } from '../plan/step.ts';
import type { Report, ReportPage, ReportQuery } from './report.ts';

/** An applied app with what the store assigned: `oid` is 24 hex digits, `appId` rises with every change. */
export interface StoredApp {
  name: string;
  oid: string;
  appId: number;
  content: App;
}

/** An applied device group with what the store assigned. */
export interface StoredGroup {
  name: string;
  oid: string;
  deviceGroupId: number;
  pruneId: number;
  content: DeviceGroup;
}

/** An applied object of either kind. */
export type StoredObject = StoredApp | StoredGroup;

/** A group with its apps, all read at one moment. `apps` follows the order of the group's list. */
export interface GroupInfo {
  group: StoredGroup;
  apps: StoredApp[];
  /** The revision that was applied at that moment; null before the first one. */
  revision: string | null;
}

/** Something that was read, and the revision that was applied when it was read. */
export interface AtRevision<T> {
  value: T;
  revision: string | null;
}

/** A commit, and the history that it belongs to. */
export interface HistoryPoint {
  /** Which objects of a repository: the folder, and the branch where a setting names it. */
  line: string;
  /** Tells one repository from another: a hash of where it is. */
  source: string;
  /** Where the branch was; null where it had no commit. */
  revision: string | null;
}

/** How far the store has come. Times are Unix milliseconds. */
export interface StoreState {
  /** Counts claimed heads; a manager whose number is not this one is behind. 0 in a new store. */
  sequence: number;
  attempted: { revision: string; at: number } | null;
  applied: { revision: string; at: number } | null;
  /** Identity of the fleet that this store belongs to, made once: 32 hex digits. */
  fleet: string;
  /** The history whose ids were taken over last (see `seedCounters`); null in a store that was never seeded. */
  seededFrom: HistoryPoint | null;
  /** The `rules` of the last applied batch; null before the first. */
  rules: string | null;
  /** Grows with every call that changes a counter; the record outside the store carries it. */
  idSequence: number;
  /** Names this moment for `changedObjects`; null where the store does not keep what changed. */
  mark: string | null;
}

/** An applied object as planning and a warm start need it. */
export type AppliedObject = { origin: FileOrigin | null } & (
  | { kind: 'app'; name: string; content: App }
  | { kind: 'device_group'; name: string; content: DeviceGroup }
);

/** What became of some objects, all as of one moment. */
export interface ChangedObjects {
  /** Those that are applied. */
  objects: AppliedObject[];
  /** Those that are not, or not any more. */
  gone: ObjectKey[];
}

/** One pass's changes, applied all together or not at all. */
export interface ApplyBatch {
  revision: string;
  /** The number that `claimHead` gave for this revision. */
  sequence: number;
  /** Unix milliseconds. */
  at: number;
  steps: readonly Step[];
  /**
   * Names how files were read (version of the reader, defaults): while it is the same, an equal blob in
   * `origin` means an equal content.
   */
  rules: string;
  /** Objects whose content is the same but whose file is another now. */
  origins: readonly { kind: Kind; name: string; origin: FileOrigin }[];
  /** Told, after each step, how many are done. */
  onStep?(done: number): void;
}

/** An id that was raised (or kept from the record) by a step. */
export interface GivenId {
  kind: Kind;
  name: string;
  id: number;
}

/** The counters: one of each app (`app_id`), two of each group. */
export type CounterKind = 'app' | 'device_group' | 'prune';

/** One counter as the record outside the store holds it; names of deleted objects are among them. */
export interface CounterRow {
  kind: CounterKind;
  name: string;
  /** The highest id ever given out. */
  last: number;
  /** `contentHash` of the content that has the id now; null for a deleted object, and for `prune`. */
  hash: string | null;
}

/** What the past knows of one counter: its row, and the lower bound of its next id. */
export interface CounterSeed extends CounterRow {
  floor: number;
}

/** What a start knows of ids that were given before. */
export interface SeedBatch {
  seeds: readonly CounterSeed[];
  /** The store's `idSequence` ends above this one. */
  idSequence: number;
  /** The floor of every name without a counter, now and later: for a past that cannot name all that ever was. */
  floorOfOthers?: number;
  /** The history that the seeds come from. */
  from: HistoryPoint;
}

/** What raises an id without a commit. */
export const OPERATIONS = ['restart', 'prune', 'prune-all'] as const;

/** Who did what, when. */
export interface OperationEntry {
  /** Grows with every entry. */
  id: number;
  /** Unix milliseconds. */
  at: number;
  actor: string;
  action: (typeof OPERATIONS)[number];
  /** The app or group; null for a prune of all. */
  name: string | null;
  requestId: string;
  /** The ids it gave, by name of the app or group. */
  ids: Record<string, number>;
}

/** An entry that has no id yet. */
export type NewOperation = Omit<OperationEntry, 'id'>;

/** Who asks for an operation, and when (Unix milliseconds). */
export interface OperationContext {
  actor: string;
  requestId: string;
  at: number;
}

/** Whether the store can be reached. */
export interface Reachable {
  /** Resolves when the store answers. */
  ping(): Promise<void>;
}

/** How far the store has come. */
export interface StoreProgress {
  state(): Promise<StoreState>;
}

/** Applied objects, as the API shows them and as writes depend on them. */
export interface ObjectReads {
  /** Names in ascending order. */
  appNames(): Promise<AtRevision<string[]>>;
  groupNames(): Promise<AtRevision<string[]>>;
  app(name: string): Promise<AtRevision<StoredApp | null>>;
  group(name: string): Promise<AtRevision<StoredGroup | null>>;
}

/** What devices are told, and when that may be something else than before. */
export interface DeviceReads extends StoreProgress {
  /**
   * A group and its apps of one moment; null where there is no such group. Rejects as `unavailable` while the
   * group lists an app that is not stored (see `seedCounters`): devices that were told the rest would stop it.
   */
  groupInfo(name: string): Promise<GroupInfo | null>;
  /**
   * The objects of which devices may have to be told something else than when this state was read, and perhaps more:
   * every group whose `groupInfo` is another now is among them, or an app that it had. The applied revision, which
   * comes with each `groupInfo`, does not count. Null where the store cannot tell; then every group may have changed.
   */
  changedForDevices(since: StoreState): Promise<ObjectKey[] | null>;
}

/** The ids that were given out: what the record outside the store keeps, and gives back after a loss. */
export interface IdStore extends StoreProgress {
  /**
   * Takes over what the past knows of ids, and marks the store as seeded. For each seed `last` and `floor`
   * become the higher of the stored and the given value. An object that is stored with an id below the seed's
   * `last`, or with that very id while the seed has the hash of another content, is outdated. If its content
   * has the seed's hash, it gets `last` as its id; otherwise it is dropped, so that the next pass applies it again.
   * A stored group's prune id rises to the seed's `last`. The `hash` of an object that is not stored (any more)
   * is kept for the next `apply` if the seed's `last` is the higher one. Every counter counts as changed.
   * If something was dropped, no revision is applied (`state().applied` is null) until the next `apply`.
   */
  seedCounters(batch: SeedBatch): Promise<void>;
  /** The counters that changed after `idSequence`; 0 gives all. */
  counters(sinceIdSequence: number): Promise<CounterRow[]>;
}

/** What a pass brings into the store, and what it has to know for that. */
export interface PassStore extends IdStore {
  /** Remembers the revision that a pass looked at and did not apply. */
  markAttempted(revision: string, at: number): Promise<void>;
  /**
   * Claims the right to apply a revision. `expected` is the sequence that the caller saw; rejects as
   * `conflict` when another one has claimed since. Marks the revision as attempted. Resolves to the new sequence.
   */
  claimHead(expected: number, revision: string, at: number): Promise<number>;
  /**
   * Applies a pass and sets the applied revision, in one transaction. Each step with content raises its
   * object's id by the rule of `nextId`, except where the seeded hash says that devices have this content
   * already; a step whose content the store has already raises nothing. So the same batch again changes nothing.
   * A group's creation gives its prune id in the same way, with the hash of the group; its updates keep it.
   * Resolves to the ids of apps and groups that were given. Rejects as `conflict` when `sequence` is not the store's.
   */
  apply(batch: ApplyBatch): Promise<GivenId[]>;
  /** Everything that is applied, for the first plan of a process. */
  appliedObjects(): Promise<AppliedObject[]>;
  /**
   * What may have changed after the state with this `mark` was read, and perhaps more. Null where the store cannot tell:
   * it keeps no marks, the mark is too old, or the store was restored since. Then everything may have changed.
   */
  changedObjects(mark: string): Promise<ChangedObjects | null>;
}

/** What raises ids without a commit, and the log of it. */
export interface OperationStore {
  /**
   * Raises the app's id and logs it. Resolves to null where there is no such app; rejects as `moved-on`, and
   * changes nothing, when it has none of the tags `ifMatch` (see `tagsOf`); null allows any.
   */
  restartApp(
    name: string,
    context: OperationContext,
    ifMatch?: readonly string[] | null,
  ): Promise<AtRevision<StoredApp> | null>;
  /**
   * Raises the group's prune id and logs it. Resolves to null where there is no such group; rejects as `moved-on`, and
   * changes nothing, when it has none of the tags `ifMatch`; null allows any.
   */
  pruneGroup(
    name: string,
    context: OperationContext,
    ifMatch?: readonly string[] | null,
  ): Promise<AtRevision<StoredGroup> | null>;
  /** Raises the prune id of every group and logs it; resolves to the new ids by group. */
  pruneAll(context: OperationContext): Promise<AtRevision<Record<string, number>>>;
  /** Logs an operation whose id was raised by a commit (the restart of a stopped app). */
  logOperation(entry: NewOperation): Promise<void>;
  /** Entries with an id below `before` (all where null), newest first: at most `limit`, at least one where any is. */
  operations(before: number | null, limit: number): Promise<OperationEntry[]>;
}

/** Reports of devices. */
export interface ReportStore {
  /**
   * Keeps reports and gives each its `_id`, above all that were given before, in the order of the list; all of
   * them or none. `at` is Unix milliseconds.
   */
  insertReports(reports: readonly Report[], at: number): Promise<void>;
  /** A page in ascending order of `_id`. */
  reports(query: ReportQuery): Promise<AtRevision<ReportPage>>;
  /** Drops reports that arrived before `before` (Unix milliseconds), in portions; resolves to how many. */
  expireReports(before: number): Promise<number>;
}

/**
 * What the manager keeps besides git: the parts above, each of which is what some part of the program works with. Every
 * call is atomic: it has happened whole when it resolves and not at all when it rejects, except that a call which rejects as
 * `unavailable` may have happened, and that `expireReports` works in portions.
 *
 * All methods reject with a HoldfastError of kind `unavailable` when the store cannot be reached. A read sees
 * every write that resolved before it was called, and never a part of one.
 */
export interface Store extends Reachable, ObjectReads, DeviceReads, PassStore, OperationStore, ReportStore {
  /**
   * Waits for the calls under way that change something. Every later call rejects as `unavailable`, except
   * that a second `close` resolves.
   */
  close(): Promise<void>;
}
