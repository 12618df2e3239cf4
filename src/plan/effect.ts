import type { App } from '../desired/app.ts';
import type { DeviceGroup } from '../desired/device-group.ts';
import { keyOf } from '../desired/name.ts';
import type { AppliedView } from './plan.ts';
import type { AppStep, Step } from './step.ts';

/** What the devices of some groups will do to the containers of an app once a plan is applied. */
export interface Effect {
  app: string;
  action: 'start' | 'restart' | 'stop';
  groups: string[];
}

/**
 * What applying the steps makes devices do. Devices start, restart or stop the containers of an app when its id rises,
 * and start or stop them when the app joins or leaves their group.
 */
export function effectsOf(steps: readonly Step[], applied: AppliedView): Effect[] {
  const found = new Map<string, Effect>();
  const planned: Planned = new Map(steps.map((step) => [keyOf(step.kind, step.name), step]));
  for (const step of steps) {
    const moves =
      step.kind === 'app' ? appMoves(step, planned, applied) : groupMoves(step.name, planned, applied);
    for (const { app, action, group } of moves) {
      const key = `${app}/${action}`;
      const effect = found.get(key) ?? { app, action, groups: [] };
      effect.groups.push(group);
      found.set(key, effect);
    }
  }
  return [...found.values()].map((effect) => ({ ...effect, groups: effect.groups.sort() }));
}

/** The steps of the plan, by key. */
type Planned = ReadonlyMap<string, Step>;

/** What the devices of one group will do to the containers of one app. */
interface Move {
  app: string;
  action: Effect['action'];
  group: string;
}

/** For groups that list the app before and after the plan; `groupMoves` tells of those that it joins or leaves. */
function appMoves(step: AppStep, planned: Planned, applied: AppliedView): Move[] {
  const { name } = step;
  if (step.before === null || step.after === null) return [];
  const action = appAction(step.before, step.after);
  if (action === null) return [];
  const groups = [...applied.groupsListing(name)].filter((group) =>
    membersAfter(group, planned, applied).includes(name),
  );
  return groups.map((group) => ({ app: name, action, group }));
}

/** Null for an app that is stopped before and after. */
function appAction(before: App, after: App): Effect['action'] | null {
  if (before.running && after.running) return 'restart';
  if (before.running === after.running) return null;
  return after.running ? 'start' : 'stop';
}

function groupMoves(name: string, planned: Planned, applied: AppliedView): Move[] {
  const before = applied.group(name)?.apps ?? [];
  const after = membersAfter(name, planned, applied);
  const joins = after.filter((app) => !before.includes(app) && appAfter(app, planned, applied)?.running);
  const leaves = before.filter((app) => !after.includes(app) && applied.app(app)?.running);
  return [
    ...joins.map((app): Move => ({ app, action: 'start', group: name })),
    ...leaves.map((app): Move => ({ app, action: 'stop', group: name })),
  ];
}

function membersAfter(group: string, planned: Planned, applied: AppliedView): readonly string[] {
  const step = planned.get(keyOf('device_group', group));
  const content = step === undefined ? applied.group(group) : (step.after as DeviceGroup | null);
  return content?.apps ?? [];
}

function appAfter(name: string, planned: Planned, applied: AppliedView): App | null | undefined {
  const step = planned.get(keyOf('app', name));
  return step === undefined ? applied.app(name) : (step.after as App | null);
}
