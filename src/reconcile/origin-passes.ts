import { createSingleFlight, type SingleFlight } from '../async/single-flight.ts';
import { kindOf } from '../errors.ts';
import type { OriginWatch } from './origin-watch.ts';
import type { PassOutcome } from './pass/pass.ts';

/** Passes on what origin has now. */
export interface OriginPasses extends SingleFlight<PassOutcome> {
  /** A poll by the clock: if another manager polls origin, this one only follows the store. */
  byClock(): Promise<void>;
}

/** `request` polls origin and then reconciles; one at a time, and each caller gets one that began after its call. */
export function createOriginPasses(
  origin: OriginWatch,
  reconcile: () => Promise<PassOutcome>,
  isClosed: () => boolean,
): OriginPasses {
  const flight = createSingleFlight(async () => {
    if (!isClosed()) await origin.refresh();
    const outcome = await reconcile();
    if (!isClosed()) await origin.conclude(outcome.ok || kindOf(outcome.error) === 'refused');
    return outcome;
  });
  const byClock = async (): Promise<void> => {
    if (await origin.isOurTurn()) await flight.request();
    else await reconcile();
  };
  return { ...flight, byClock };
}
