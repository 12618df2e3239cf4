import type { Faults } from '../faults.ts';
import type { AppBody, AppChange, AppDefaults } from '../protocol/app.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { Publisher, Reader } from '../source/source.ts';
import type { AtRevision, ObjectReads, Reachable, StoredApp, StoredGroup } from '../store/store.ts';

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

/** A requested change of one object. */
export type Write = AppWrite | DeviceGroupWrite;

/** Who requests a write, and under which condition. */
export interface WriteContext {
  user: string;
  email: string;
  requestId: string;
  /** Tags (`If-Match`) of which the object must have one; null if any state of the object will do. */
  ifMatch: readonly string[] | null;
}

/** A write and who requests it. */
export interface WriteRequest {
  write: Write;
  context: WriteContext;
}

/** The stored form of a write's object. */
type StoredOf<W extends Write> = W extends AppWrite ? StoredApp : StoredGroup;

/** The result of a write. */
export interface WriteResult<W extends Write = Write> {
  /** The commit that was made for it; null if nothing had to change. */
  revision: string | null;
  /** The object as this write left it in the store, without the effects of later writes; null after a delete. */
  object: AtRevision<StoredOf<W> | null>;
}

/** Changes the configuration by commits. */
export interface Writer {
  /**
   * Resolves when the write is committed, published and applied. Rejects as
   * - `absent`, `present` or `invalid`: the request cannot be carried out;
   * - `moved-on`: `If-Match` does not hold;
   * - `conflict`: someone has to change something in the repository first;
   * - `unavailable`: the same request can succeed later.
   *
   * A rejected write has changed nothing, unless the error has `details.revision`: that commit is published, or may be.
   * `details.applied` says whether it is applied already; otherwise a later pass applies it if the branch
   * contains it.
   */
  write<W extends Write>(write: W, context: WriteContext): Promise<WriteResult<W>>;
  /** Waits for writes that have begun; rejects writes that are still waiting, and all later ones. */
  close(): Promise<void>;
}

/** What a writer depends on. */
export interface WriterDependencies {
  reconciler: Reconciler;
  reader: Reader;
  publisher: Publisher;
  store: ObjectReads & Reachable;
  defaults: AppDefaults;
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
  resolve(written: WriteResult): void;
  reject(error: unknown): void;
}
