import type { App } from '../protocol/app.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import { keyOf } from '../protocol/name.ts';
import type { AppStep, Step } from './step.ts';
import type { AppliedView } from './views.ts';

/** What the devices of these groups will do to the containers of an app once a plan is applied. */
export interface Effect {
  app: string;
  action: 'start' | 'restart' | 'stop';
  groups: string[];
}

/**
 * Returns what devices will do once the steps are applied. Devices start, restart or stop the containers of an app when
 * its id rises, and start or stop them when the app joins or leaves their group. `applied` is the state before the
 * steps.
 */
export function effectsOf(steps: readonly Step[], applied: AppliedView): Effect[] {
  const effects = new Map<string, Effect>();
  const planned: Planned = new Map(steps.map((step) => [keyOf(step.kind, step.name), step]));
  for (const step of steps) {
    const found = effectsOfStep(step, planned, applied);
    for (const { app, action, group } of found) {
      const key = `${app}/${action}`;
      const effect = effects.get(key) ?? { app, action, groups: [] };
      effect.groups.push(group);
      effects.set(key, effect);
    }
  }
  return [...effects.values()].map((effect) => ({ ...effect, groups: effect.groups.sort() }));
}

/** The steps of the plan, by key. */
type Planned = ReadonlyMap<string, Step>;

/** What the devices of one group will do to the containers of one app. */
interface GroupEffect {
  app: string;
  action: Effect['action'];
  group: string;
}

/** That of a device is no group's: `deviceMoves` has words for it. */
function effectsOfStep(step: Step, planned: Planned, applied: AppliedView): GroupEffect[] {
  if (step.kind === 'app') return effectsOfAppStep(step, planned, applied);
  return step.kind === 'device_group' ? effectsOfGroupStep(step.name, planned, applied) : [];
}

/**
 * Covers groups that list the app before and after the plan; `effectsOfGroupStep` covers those that it joins or leaves.
 */
function effectsOfAppStep(step: AppStep, planned: Planned, applied: AppliedView): GroupEffect[] {
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

function effectsOfGroupStep(name: string, planned: Planned, applied: AppliedView): GroupEffect[] {
  const before = applied.group(name)?.apps ?? [];
  const after = membersAfter(name, planned, applied);
  const joins = after.filter((app) => !before.includes(app) && appAfter(app, planned, applied)?.running);
  const leaves = before.filter((app) => !after.includes(app) && applied.app(app)?.running);
  return [
    ...joins.map((app): GroupEffect => ({ app, action: 'start', group: name })),
    ...leaves.map((app): GroupEffect => ({ app, action: 'stop', group: name })),
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

/**
 * Returns a sentence for each device that the steps move to another group, with what it starts and stops: "till-0412 moves from
 * stores to canary: starts pos-ui-next, stops pos-ui".
 */
export function deviceMoves(steps: readonly Step[], applied: AppliedView): string[] {
  const planned: Planned = new Map(steps.map((step) => [keyOf(step.kind, step.name), step]));
  return steps.flatMap((step) => {
    if (step.kind !== 'device') return [];
    const [from, to] = [step.before?.device_group, step.after?.device_group];
    if (from === undefined || to === undefined || from === to) return [];
    const before = (applied.group(from)?.apps ?? []).filter((app) => applied.app(app)?.running);
    const after = membersAfter(to, planned, applied).filter(
      (app) => appAfter(app, planned, applied)?.running,
    );
    const does = [
      ['starts', after.filter((app) => !before.includes(app))] as const,
      ['stops', before.filter((app) => !after.includes(app))] as const,
    ].flatMap(([verb, apps]) => (apps.length === 0 ? [] : `${verb} ${apps.join(', ')}`));
    return `${step.name} moves from ${from} to ${to}: ${does.join(', ') || 'starts and stops nothing'}`;
  });
}
