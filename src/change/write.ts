import type { Faults } from '../faults.ts';
import type { AppBody, AppChange, AppDefaults } from '../protocol/app.ts';
import type { DeviceBody } from '../protocol/device-fields.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import { keyOf, type ObjectKey } from '../protocol/name.ts';
import type { Preview } from '../protocol/plan.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { Publisher, Reader, SourceOrigin } from '../source/source.ts';
import type { AtRevision, ObjectReads, Reachable, StoredObject, StoredOf } from '../store/objects/port.ts';

/** How many times a write is drafted while the branch keeps moving. */
export const MAX_ATTEMPTS = 5;

/** A requested change of one app. Its fields have been checked against the schemas. */
export type AppWrite = { kind: 'app'; name: string } & (
  | { op: 'create'; fields: AppBody }
  /** Sets all fields; those that are left out are reset to their defaults. */
  | { op: 'replace'; fields: AppBody }
  /** Sets some fields; the others keep their values. */
  | { op: 'change'; fields: AppChange }
  | { op: 'delete' }
);

/** A requested change of one device group. */
export type DeviceGroupWrite = { kind: 'device_group'; name: string } & (
  | { op: 'create'; fields: DeviceGroup }
  | { op: 'replace'; fields: DeviceGroup }
  | { op: 'delete' }
);

/** A requested change of one device. */
export type DeviceWrite = { kind: 'device'; name: string } & (
  | { op: 'create' | 'replace' | 'change'; fields: DeviceBody }
  | { op: 'delete' }
);

/** A requested text of the file at a path, in place of all that the file has now. The path is one of this object. */
export interface FileWrite extends ObjectKey {
  op: 'file';
  /** Below the folder. */
  path: string;
  /** Null removes the file. */
  text: string | null;
  /** The blob that the file must have, null if the object must have no file; without it, there can be any. */
  expected?: string | null;
}

/** A requested change of one object, or of one of its files. */
export type Write = AppWrite | DeviceGroupWrite | DeviceWrite | FileWrite;

/** Changes that are made together, in one commit, or not at all. */
export interface ChangeSet {
  /**
   * At most one for each object, or for each path. Their order does not matter: a group can list an app that a later change
   * creates.
   */
  changes: readonly Write[];
  /** The subject of the commit; null if it is to be made from the changes. */
  subject: string | null;
  /** Trailers of the commit besides those that every write has: `Restores: 1234...`. */
  trailers: readonly string[];
}

/** Whether a change removes what it is about. */
export function isRemoval(write: Write): boolean {
  return write.op === 'delete' || (write.op === 'file' && write.text === null);
}

/** Returns the keys of the objects of a set. */
export function keysOf({ changes }: ChangeSet): string[] {
  return changes.map(({ kind, name }) => keyOf(kind, name));
}

/** Returns the set of this change alone. */
export function setOf(write: Write): ChangeSet {
  return { changes: [write], subject: null, trailers: [] };
}

/** Who requests a write, why, and under which condition. */
export interface WriteContext {
  user: string;
  email: string;
  requestId: string;
  /** Tags (`If-Match`) of which each object of the set must have one; null if any state of the objects will do. */
  ifMatch: readonly string[] | null;
  /** A revision, as `Reader.resolve` takes it, after which no object that the set touches may have changed. */
  base?: string;
  /** For the body of the commit's message. */
  reason?: string;
}

/** A set of changes and who requests it. */
export interface WriteRequest {
  set: ChangeSet;
  context: WriteContext;
  /** Whether to look also for what people should be warned of. */
  warns?: boolean;
}

/** The result of a change of one object. */
export interface WriteResult<W extends Write = Write> {
  /** The commit that was made for it; null if nothing had to change. */
  revision: string | null;
  /** The object as this write left it in the store, without the effects of later writes; null after a delete. */
  object: AtRevision<StoredOf[W['kind']] | null>;
}

/** The result of a set of changes. */
export interface SetResult {
  /** The commit that was made for it; null if nothing had to change. */
  revision: string | null;
  /** The objects of the set by key, as `WriteResult` has them. */
  objects: ReadonlyMap<string, AtRevision<StoredObject | null>>;
}

/** The file of an object at the head of the branch. */
export interface ObjectFile {
  /** Inside the repository. */
  path: string;
  /** Id of its bytes. */
  blob: string;
  text: string;
  /** Full commit id of the head. */
  revision: string;
  /** Below the folder: this file, then others that claim the same name. */
  paths: readonly string[];
}

/** Changes the configuration by commits. */
export interface Writer {
  /**
   * Resolves when the set is committed, published and applied. Rejects as
   * - ChangesRefused: some changes cannot be carried out; it has the error of each, as `write` rejects with it;
   * - `invalid`: the set cannot be carried out as a whole;
   * - `absent`: there is no revision `base`;
   * - `moved-on`: `If-Match` or `base` does not hold;
   * - `conflict`: someone has to change something in the repository first;
   * - `unavailable`: the same request can succeed later.
   *
   * A rejected write has changed nothing, unless the error has `details.revision`: that commit is published, or may be.
   * `details.applied` says whether it is applied already; otherwise a later pass applies it if the branch
   * contains it.
   */
  commit(set: ChangeSet, context: WriteContext): Promise<SetResult>;
  /**
   * Carries out a set of one change. Rejects as `commit` does or, if the change cannot be carried out, as `absent`,
   * `present`, `invalid`, `moved-on` or `conflict`.
   */
  write<W extends Write>(write: W, context: WriteContext): Promise<WriteResult<W>>;
  /**
   * Resolves to what `commit` would do now, and changes nothing. A commit of the same set with `base` set to this base
   * makes exactly these files, or is refused. Rejects as `commit` does.
   */
  preview(set: ChangeSet, context: WriteContext): Promise<Preview>;
  /** Resolves to the file of an object, valid or not; null if there is none. Rejects as `conflict` or `unavailable`. */
  file(object: ObjectKey): Promise<ObjectFile | null>;
  /** Rejects as `commit` does if there is no revision `base`, or one of these objects has changed since. */
  requireUnchanged(base: string, objects: readonly ObjectKey[]): Promise<void>;
  /** Waits for writes that have begun; rejects writes that are still waiting, and all later ones. */
  close(): Promise<void>;
}

/** What a writer depends on. */
export interface WriterDependencies {
  reconciler: Reconciler;
  reader: Reader;
  /** Where branches and tags are looked up that are not here; null without a remote. */
  origin: SourceOrigin | null;
  publisher: Publisher;
  store: ObjectReads & Reachable;
  defaults: AppDefaults;
  /** Path of the desired-state folder inside the repository; empty if it is the whole repository. */
  folder: string;
  /** Whether a revision with any problem is refused whole. */
  strict: boolean;
  /** Unix milliseconds. */
  now(): number;
  faults: Faults;
  /** Milliseconds that a write waits for its turn, and for a pass. */
  waitLimit: number;
}

/** A request in the writer, and the functions that answer its caller. */
export interface QueuedWrite extends WriteRequest {
  resolve(written: SetResult): void;
  reject(error: unknown): void;
}
