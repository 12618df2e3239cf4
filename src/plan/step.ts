import type { App } from '../protocol/app.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import type { Kind } from '../protocol/name.ts';

/** The file that an object's content was read from. Equal blobs are equal bytes. */
export interface FileOrigin {
  path: string;
  blob: string;
}

interface StepOf<K extends Kind, C> {
  kind: K;
  name: string;
  /** The content before and after the step, which always differs; null if the object does not exist. */
  before: C | null;
  after: C | null;
  /** The file that `after` was read from; null for a delete. */
  origin: FileOrigin | null;
}

export type AppStep = StepOf<'app', App>;
type DeviceGroupStep = StepOf<'device_group', DeviceGroup>;

/** A change of one object that devices must act on. Applying it raises the object's id, unless it is a delete. */
export type Step = AppStep | DeviceGroupStep;

/** What a step does to its object. */
export type ChangeType = 'create' | 'update' | 'delete';

/** Returns what a step does to its object. */
export function changeTypeOf(step: Step): ChangeType {
  if (step.before === null) return 'create';
  return step.after === null ? 'delete' : 'update';
}

/*
 *   apps ----------------> device groups        create and update: down the table, so that
 *   (a group names apps)                         a group never names an app that is not there
 *   apps <---------------- device groups        delete: up the table, for the same reason
 */
const ORDER: readonly { kind: Kind; deletes: boolean }[] = [
  { kind: 'app', deletes: false },
  { kind: 'device_group', deletes: false },
  { kind: 'device_group', deletes: true },
  { kind: 'app', deletes: true },
];

/** Returns the place of a change in the order in which changes are made: those with a lower rank come first. */
export function rankOf(kind: Kind, deletes: boolean): number {
  return ORDER.findIndex((row) => row.kind === kind && row.deletes === deletes);
}

function rank({ kind, after }: Step): number {
  return rankOf(kind, after === null);
}

/** Returns the steps in the order in which they are applied and shown; equal steps always get the same order. */
export function orderSteps(steps: readonly Step[]): Step[] {
  return [...steps].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}
