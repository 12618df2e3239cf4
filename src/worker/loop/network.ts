import { messageOf } from '../../errors.ts';
import type { AppRecord } from '../../protocol/info.ts';
import type { Actual } from '../plan/model.ts';
import type { Plan } from '../plan/plan.ts';
import type { Parts } from './parts.ts';
import type { Problems } from './problems.ts';

/** The network that all apps share, unless they use that of the machine or none. */
const NEBULA = 'nebula';

/** Returns the networks to join: `nebula` first, as with Nebula's worker, unless the list begins with `host` or `none`. */
export function networksOf({ networks }: AppRecord): string[] {
  const [first] = networks;
  if (first === 'host' || first === 'none') return [first];
  return [NEBULA, ...networks.filter((name) => name !== NEBULA)];
}

/**
 * Makes the shared network before the first container needs it, and removes one of two with its name. Without it, what needs
 * it fails by itself, and waits; everything else goes on.
 */
export async function ensureNetwork(
  { engine, logger }: Parts,
  problems: Problems,
  { jobs }: Plan,
  { networks }: Actual,
): Promise<void> {
  const isThere = networks.filter((name) => name === NEBULA).length === 1;
  const isNeeded = jobs.some(({ steps }) =>
    steps.some(
      (step) => step.do === 'start' || (step.do === 'create' && networksOf(step.record).includes(NEBULA)),
    ),
  );
  try {
    if (isNeeded && !isThere) await engine.createNetwork(NEBULA);
    if (networks.includes(NEBULA)) problems.clear('network-missing');
  } catch (error) {
    const text = `the network nebula cannot be created: ${messageOf(error)}`;
    if (problems.note('network-missing', text)) logger.warn(text);
  }
}
