import { devicesByGroup } from '../fleet/counts.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { EffectRecord } from '../protocol/plan.ts';

/** Returns how many devices are in some groups (null: in all); null while no device is known. */
export type DevicesIn = (groups: Iterable<string> | null) => number | null;

/** Counts the devices of each group. While they cannot be read, none is known. */
export async function countingDevices(fleet: Pick<Fleet, 'known'>): Promise<DevicesIn> {
  const byGroup = await fleet.known().then(devicesByGroup, () => new Map<string, number>());
  if (byGroup.size === 0) return () => null;
  return (groups) => {
    let sum = 0;
    for (const group of new Set(groups ?? byGroup.keys())) sum += byGroup.get(group) ?? 0;
    return sum;
  };
}

/** Returns effects with how many devices each has. */
export function withDevices(effects: readonly EffectRecord[], devicesIn: DevicesIn): EffectRecord[] {
  return effects.map((effect) => ({ ...effect, devices: devicesIn(effect.groups) }));
}
