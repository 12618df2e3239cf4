import type { AppChange, AppFields } from '../desired/app.ts';
import type { DeviceGroup } from '../desired/device-group.ts';
import type { AtRevision, StoredApp, StoredGroup } from '../store/store.ts';

/** A wish to change one app's configuration, already checked against the schemas. */
export type AppWrite = { kind: 'app'; name: string } & (
  | { op: 'create'; fields: AppFields }
  /** All fields at once; what is left out goes back to its default. */
  | { op: 'replace'; fields: AppFields }
  /** Some fields; the others stay. */
  | { op: 'change'; fields: AppChange }
  | { op: 'delete' }
);

/** A wish to change one device group. */
export type DeviceGroupWrite = { kind: 'device_group'; name: string } & (
  | { op: 'create'; fields: DeviceGroup }
  | { op: 'replace'; fields: DeviceGroup }
  | { op: 'delete' }
);

export type Write = AppWrite | DeviceGroupWrite;

/** Who writes, and under which condition. */
export interface WriteContext {
  user: string;
  email: string;
  requestId: string;
  /** The ids that the caller will accept (`If-Match`); null accepts any. */
  ifMatch: readonly number[] | null;
}

/** What the store keeps of the object that a write is about. */
type StoredOf<W extends Write> = W extends AppWrite ? StoredApp : StoredGroup;

/** What became of a write. */
export interface Written<W extends Write = Write> {
  /** The commit that holds it, or null where nothing had to change. */
  revision: string | null;
  /** The object as it is stored once the write is applied, before any write after it; null after a delete. */
  object: AtRevision<StoredOf<W> | null>;
}

/** Makes configuration changes through commits; resolves when a change is published and applied. */
export interface Writer {
  /**
   * Rejects as `absent`, `present` or `invalid` (the request cannot be done), `moved-on` (If-Match), `conflict`
   * (a person has to look at the repository) or `unavailable` (later, perhaps). Nothing was changed then, except
   * with `details.revision`: that commit is published, and applied now, or by the next pass (`details.applied`).
   */
  write<W extends Write>(write: W, context: WriteContext): Promise<Written<W>>;
  /** Ends what is under way; what still waits is rejected. */
  close(): Promise<void>;
}
