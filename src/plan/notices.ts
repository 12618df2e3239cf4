import { sameValue } from '../protocol/values.ts';
import type { Effect } from './effect.ts';
import type { Step } from './step.ts';

const ACTIONS = ['restart', 'start', 'stop'] as const satisfies readonly Effect['action'][];

/** Counts what devices will do, in one line: "312 apps restart on 40 groups, 1 app stops on 2 groups". */
export function totalsOf(effects: readonly Effect[]): string {
  const parts = ACTIONS.flatMap((action) => {
    const found = effects.filter((effect) => effect.action === action);
    if (found.length === 0) return [];
    const groups = new Set(found.flatMap((effect) => effect.groups)).size;
    const verb = found.length === 1 ? `app ${action}s` : `apps ${action}`;
    return `${found.length} ${verb} on ${groups} group${groups === 1 ? '' : 's'}`;
  });
  return parts.length === 0 ? 'no app starts, restarts or stops on any group' : parts.join(', ');
}

/**
 * Returns a sentence for each device group that the steps delete or, if a new group has the same apps, rename. Devices are
 * set to the name of their group, so those of such a group stop everything until they are set to another one.
 */
export function lostGroups(steps: readonly Step[]): string[] {
  const groups = steps.filter((step) => step.kind === 'device_group');
  const created = groups.filter(
    ({ before, after }) => before === null && after !== null && after.apps.length > 0,
  );
  return groups.flatMap(({ name, before, after }) => {
    if (after !== null) return [];
    const index = created.findIndex((group) => sameValue(group.after, before));
    const [renamed] = index < 0 ? [] : created.splice(index, 1);
    return renamed === undefined
      ? `device group ${name} is DELETED: its devices stop all their apps`
      : `device group ${name} is RENAMED to ${renamed.name}: its devices stop all their apps until they are set to ${renamed.name}`;
  });
}
