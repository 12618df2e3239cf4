import { createSingleFlight, type SingleFlight } from '../async/single-flight.ts';
import { kindOf } from '../errors.ts';
import type { OriginWatch } from './origin-watch.ts';
import type { PassOutcome } from './pass/pass.ts';

/** Passes on what origin has, whoever calls for them. */
export interface OriginPasses extends SingleFlight<PassOutcome> {
  /** The look that the clock calls for: where another manager asks origin, this one looks at the store alone. */
  byClock(): Promise<void>;
}

/** `request` asks origin and then reconciles; one such look at a time, and each caller gets one that began later. */
export function createOriginPasses(
  origin: OriginWatch,
  reconcile: () => Promise<PassOutcome>,
  isClosed: () => boolean,
): OriginPasses {
  const flight = createSingleFlight(async () => {
    if (!isClosed()) await origin.refresh();
    const outcome = await reconcile();
    if (!isClosed()) await origin.conclude(outcome.ok || kindOf(outcome.error) === 'stalled');
    return outcome;
  });
  const byClock = async (): Promise<void> => {
    if (await origin.isOurTurn()) await flight.request();
    else await reconcile();
  };
  return { ...flight, byClock };
}
