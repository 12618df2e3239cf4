import { messageOf } from '../../errors.ts';
import type { Parts } from '../parts.ts';
import type { Actual } from '../plan/model.ts';
import { networksOf, SHARED } from '../plan/networks.ts';
import type { Plan } from '../plan/plan.ts';
import type { Problems } from './problems.ts';

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
  const isThere = networks.filter((name) => name === SHARED).length === 1;
  const isNeeded = jobs.some(({ steps }) =>
    steps.some(
      (step) => step.do === 'start' || (step.do === 'create' && networksOf(step.record).includes(SHARED)),
    ),
  );
  try {
    if (isNeeded && !isThere) await engine.createNetwork(SHARED);
    if (networks.includes(SHARED)) problems.clear('network-missing');
  } catch (error) {
    const text = `the network nebula cannot be created: ${messageOf(error)}`;
    if (problems.note('network-missing', text)) logger.warn(text);
  }
}
