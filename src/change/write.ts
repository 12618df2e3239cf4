import type { AppChange, AppDefaults, AppFields } from '../desired/app.ts';
import type { DeviceGroup } from '../desired/device-group.ts';
import type { Faults } from '../faults.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { Publisher, Reader } from '../source/source.ts';
import type { AtRevision, ObjectReads, Reachable, StoredApp, StoredGroup } from '../store/store.ts';

/** A change of one app's configuration that is asked for. The fields were checked against the schemas. */
export type AppWrite = { kind: 'app'; name: string } & (
  | { op: 'create'; fields: AppFields }
  /** All fields at once; those that are left out go back to their defaults. */
  | { op: 'replace'; fields: AppFields }
  /** Some fields; the others keep their values. */
  | { op: 'change'; fields: AppChange }
  | { op: 'delete' }
);

/** A change of one device group that is asked for. */
export type DeviceGroupWrite = { kind: 'device_group'; name: string } & (
  | { op: 'create'; fields: DeviceGroup }
  | { op: 'replace'; fields: DeviceGroup }
  | { op: 'delete' }
);

/** A change of the configuration that is asked for, of one object. */
export type Write = AppWrite | DeviceGroupWrite;

/** Who requests a write, and under which condition. */
export interface WriteContext {
  user: string;
  email: string;
  requestId: string;
  /** The tags of which the object must have one now (`If-Match`); null allows any object. */
  ifMatch: readonly string[] | null;
}

/** A write and who requests it. */
export interface WriteRequest {
  write: Write;
  context: WriteContext;
}

/** What the store has of the object of a write. */
type StoredOf<W extends Write> = W extends AppWrite ? StoredApp : StoredGroup;

/** What became of a write. */
export interface Written<W extends Write = Write> {
  /** The commit that was made for it; null if nothing had to change. */
  revision: string | null;
  /** The object as this write left it in the store, whatever writes follow; null after a delete. */
  object: AtRevision<StoredOf<W> | null>;
}

/** Changes the configuration by commits. */
export interface Writer {
  /**
   * Resolves when the write is committed, published and applied. Rejects as
   * - `absent`, `present` or `invalid`: the request cannot be carried out;
   * - `moved-on`: `If-Match` does not hold;
   * - `conflict`: a person has to look at the repository;
   * - `unavailable`: it may work later.
   *
   * Nothing was changed then, unless the error has `details.revision`: that commit is published. `details.applied` says
   * whether it is applied already, or will be by the next pass.
   */
  write<W extends Write>(write: W, context: WriteContext): Promise<Written<W>>;
  /** Waits for the writes that have begun; rejects those that have not, and all that come later. */
  close(): Promise<void>;
}

/** What a writer works with. */
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
  patience: number;
}

/** A request in the writer, and how to answer its caller. */
export interface QueuedWrite extends WriteRequest {
  resolve(written: Written): void;
  reject(error: unknown): void;
}
