import type { Effect } from '../../plan/effect.ts';
import { Convergence } from '../../protocol/device.ts';
import type { CountedEffect } from '../shell/report.ts';
import type { ManagerAddress } from './client.ts';
import { readFrom } from './replies.ts';

/** Adds to each effect how many devices it has, and how many of them are silent, as a manager knows them. */
export async function countEffects(
  manager: ManagerAddress,
  effects: readonly Effect[],
): Promise<CountedEffect[]> {
  const { groups } = await readFrom(manager, 'convergence', Convergence);
  const known = new Map(groups.map((counts) => [counts.group, counts]));
  return effects.map((effect) => {
    const found = effect.groups.flatMap((group) => known.get(group) ?? []);
    return {
      ...effect,
      devices: found.reduce((sum, { devices }) => sum + devices, 0),
      silent: found.reduce((sum, { silent }) => sum + silent, 0),
    };
  });
}
