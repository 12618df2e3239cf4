import type { App } from '../desired/app.ts';
import type { DeviceGroup } from '../desired/device-group.ts';
import type { Kind } from '../desired/name.ts';

/** The file that an object's content came from; equal blobs are equal bytes. */
export interface Origin {
  path: string;
  blob: string;
}

interface StepOf<K extends Kind, C> {
  kind: K;
  name: string;
  /** What devices see before and after; null where there is no object. Never equal. */
  before: C | null;
  after: C | null;
  /** Where `after` is written; null for a delete. */
  origin: Origin | null;
}

export type AppStep = StepOf<'app', App>;
type DeviceGroupStep = StepOf<'device_group', DeviceGroup>;

/** One change of what devices must do. A plan is a list of these, and raises one id for each that has an `after`. */
export type Step = AppStep | DeviceGroupStep;

export type Operation = 'create' | 'update' | 'delete';

export function operationOf(step: Step): Operation {
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

function rank(step: Step): number {
  const deletes = step.after === null;
  return ORDER.findIndex((row) => row.kind === step.kind && row.deletes === deletes);
}

/** Steps in the order in which they are applied and shown. */
export function orderSteps(steps: readonly Step[]): Step[] {
  return [...steps].sort((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}
