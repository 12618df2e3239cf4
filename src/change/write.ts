import type { AppChange, AppFields } from '../desired/app.ts';
import type { DeviceGroup } from '../desired/device-group.ts';

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

/** What became of a write: the commit that holds it, or null where nothing had to change. */
export interface Written {
  revision: string | null;
}

/** Makes configuration changes through commits; resolves when a change is published and applied. */
export interface Writer {
  /**
   * Rejects as `absent`, `present` or `invalid` (the request cannot be done), `moved-on` (If-Match), `conflict`
   * (a person has to look at the repository) or `unavailable` (later, perhaps). Nothing was changed then, except
   * with `details.revision`: that commit is published, and the next pass applies it.
   */
  write(write: Write, context: WriteContext): Promise<Written>;
  /** Ends what is under way; what still waits is rejected. */
  close(): Promise<void>;
}
