import type { ContentOfKind } from '../../desired/content.ts';
import type { IdState, IdStore } from '../../ids/id-store.ts';
import type { Effect } from '../../plan/effect.ts';
import type { FileOrigin, Step } from '../../plan/step.ts';
import type { Kind, ObjectKey } from '../../protocol/name.ts';
import type { Operation } from '../operation.ts';

interface Stored<K extends Kind> {
  kind: K;
  name: string;
  /** 24 hex digits. */
  oid: string;
  content: ContentOfKind[K];
}

/** An applied app. `appId` rises with every change. */
export interface StoredApp extends Stored<'app'> {
  appId: number;
}

/** An applied device group. `deviceGroupId` rises with every change, `pruneId` with every prune. */
export interface StoredGroup extends Stored<'device_group'> {
  deviceGroupId: number;
  pruneId: number;
}

/** An applied device. `deviceId` rises with every change. */
export interface StoredDevice extends Stored<'device'> {
  deviceId: number;
}

/** An applied object, by kind. */
export interface StoredOf {
  app: StoredApp;
  device_group: StoredGroup;
  device: StoredDevice;
}

/** An applied object of any kind. */
export type StoredObject = StoredOf[Kind];

/** A group and its apps from one snapshot. `apps` is in the order of the group's list. */
export interface GroupInfo {
  group: StoredGroup;
  apps: StoredApp[];
  /** The revision that was applied in that snapshot; null if none was applied yet. */
  revision: string | null;
  /** `StoreState.fleet`. */
  fleet: string;
  /**
   * The highest `StoreState.idSequence` at which an id of the group or of one of its apps changed. It never falls, since
   * whatever removes an object from a group changes the group's id.
   */
  idSequence: number;
}

/** What the file of a device says. */
export interface DeviceInfo {
  group: string | null;
  variables: Readonly<Record<string, string>>;
  /** The `StoreState.idSequence` at which it changed. */
  changed: number;
}

/** A value, and the revision that was applied when it was read; null if none was applied yet. */
export interface AtRevision<T> {
  value: T;
  revision: string | null;
}

/** Which revisions the store has attempted and applied, and the state of its ids. Times are Unix milliseconds. */
export interface StoreState extends IdState {
  /** The number of claims (`claimHead`); 0 in a new store. A manager that remembers another number is behind. */
  sequence: number;
  attempted: { revision: string; at: number } | null;
  /** `ApplyBatch.rules` of the last applied batch; null if none was applied yet. */
  rules: string | null;
  /** Identifies this state for `changedObjects`; null if the store is not shared, or before its first write. */
  mark: string | null;
}

/** An applied object without its ids, and the file that it was read from. */
export type AppliedObject = {
  [K in Kind]: { origin: FileOrigin | null; kind: K; name: string; content: ContentOfKind[K] };
}[Kind];

/** The objects that may have changed, from one snapshot. */
export interface ChangedObjects {
  /** Objects that are applied. */
  objects: AppliedObject[];
  /** Objects that are not applied, or no longer. */
  gone: ObjectKey[];
}

/** The changes of one pass. The store applies all of them or none. */
export interface ApplyBatch {
  revision: string;
  /** The sequence number that `claimHead` returned for this revision. */
  sequence: number;
  /** Unix milliseconds. */
  at: number;
  steps: readonly Step[];
  /**
   * Identifies how files are read: the version of the reader, and the defaults. Under the same rules, equal blobs in
   * `origin` have equal contents.
   */
  rules: string;
  /** Objects whose content is unchanged, but whose file has changed. */
  origins: readonly { kind: Kind; name: string; origin: FileOrigin }[];
  /** The branch that was followed, what devices will do, and the keys of what is held back: for its act. */
  branch?: string | null;
  held?: readonly string[];
  effects?: readonly Effect[];
  /** Called after each step with the number of steps that are done. */
  onStep?(done: number): void;
}

/** The id of an object that a step created or changed: a higher one than before, or the one from the record. */
export interface AssignedId {
  kind: Kind;
  name: string;
  id: number;
}

/** Who requested an operation, why, and when (Unix milliseconds). */
export interface OperationContext {
  actor: string;
  requestId: string;
  reason?: string;
  at: number;
}

/** Checks whether the store can be reached. */
export interface Reachable {
  /** Resolves when the store answers. */
  ping(): Promise<void>;
}

/** Reads the state of the store. */
export interface StoreProgress {
  state(): Promise<StoreState>;
}

/** Reads applied objects, for the API's replies and its writes. */
export interface ObjectReads {
  /** Names in ascending order. */
  names(kind: Kind): Promise<AtRevision<string[]>>;
  /** `value` is null if there is no such object. */
  object<K extends Kind>(kind: K, name: string): Promise<AtRevision<StoredOf[K] | null>>;
}

/** Reads what devices are served. */
export interface DeviceReads {
  /**
   * Resolves to a group and its apps from one snapshot; to null if there is no such group. Rejects as `unavailable` if
   * the group lists an app that is not stored (see `seedCounters`): devices stop every app that is left out.
   */
  groupInfo(name: string): Promise<GroupInfo | null>;
  /** Resolves to what the file of a device says; null if it has none. */
  deviceInfo(name: string): Promise<DeviceInfo | null>;
}

/** What a store that several managers share tells of what others have changed. */
export interface SharedStore {
  /**
   * Resolves to the objects that changed after the state with this `mark` was read, and possibly others. Resolves to
   * null if any object may have changed: the store kept no mark, the mark is too old, or the store was restored.
   */
  changedObjects(mark: string): Promise<ChangedObjects | null>;
  /**
   * Resolves to the objects that may have changed for devices after `since` was read. For every group whose `groupInfo`
   * has changed, the result names the group or one of the apps that it had; it can name more objects. A change of its
   * `revision` alone does not count. Resolves to null if the store does not know; then every group may have changed.
   */
  changedForDevices(since: StoreState): Promise<ObjectKey[] | null>;
}

/** Applies revisions, and reads what a pass needs to plan them. */
export interface PassStore extends StoreProgress, IdStore {
  state(): Promise<StoreState>;
  /** Records a revision that a pass has read but does not apply. */
  markAttempted(revision: string, at: number): Promise<void>;
  /**
   * Claims the right to apply a revision, and records the revision as attempted. `expected` is the sequence number that
   * the caller read; rejects as `conflict` if there was another claim since. Resolves to the new sequence number.
   */
  claimHead(expected: number, revision: string, at: number): Promise<number>;
  /**
   * Applies a batch and sets the applied revision, in one transaction. A step that changes an object's content raises
   * its id by the rule of `nextId`. A step that creates an object raises its id, too, unless the seeded hash shows that
   * devices already have this content; the same holds for the prune id of a new group, by the group's hash. Updates of
   * a group keep its prune id. A step whose content is already stored raises nothing, so applying the same batch again
   * changes nothing. Resolves to the ids of the apps and groups that were created or changed. Rejects as `conflict` if
   * `sequence` is not that of the store.
   */
  apply(batch: ApplyBatch): Promise<AssignedId[]>;
  /** Resolves to all applied objects, for the first plan of a process. */
  appliedObjects(): Promise<AppliedObject[]>;
}

/** Raises ids without a commit, and logs these operations as acts. */
export interface OperationStore {
  /**
   * Raises an app's id and logs the operation. Resolves to null if there is no such app. Rejects as `moved-on`, and
   * changes nothing, if the app has none of the entity tags in `ifMatch` (see `tagsOf`); null accepts any.
   */
  restartApp(
    name: string,
    context: OperationContext,
    ifMatch?: readonly string[] | null,
  ): Promise<AtRevision<StoredApp> | null>;
  /** Raises a group's prune id and logs the operation. Missing groups and `ifMatch`: as in `restartApp`. */
  pruneGroup(
    name: string,
    context: OperationContext,
    ifMatch?: readonly string[] | null,
  ): Promise<AtRevision<StoredGroup> | null>;
  /** Raises the prune id of every group and logs the operation. Resolves to the new ids by the group's name. */
  pruneAll(context: OperationContext): Promise<AtRevision<Record<string, number>>>;
  /** Logs an operation whose id a commit has raised: the restart of a stopped app. */
  logOperation(entry: Operation): Promise<void>;
}

/**
 * Everything that the manager keeps outside of git, except reports and the history. Most parts of the program need only some of the interfaces above.
 *
 * Every call is atomic: it takes effect completely if it resolves, and not at all if it rejects. There are two
 * exceptions: a call that rejects as `unavailable` may have taken effect, and `expireReports` works in portions. A read
 * sees every write that resolved before the read was called, and never a part of a write.
 *
 * All methods reject with a `HoldfastError`, of kind `unavailable` if the store cannot be reached.
 */
export interface Store extends Reachable, ObjectReads, DeviceReads, PassStore, OperationStore {}
