import { createSingleFlight, type SingleFlight } from '../async/single-flight.ts';
import { kindOf } from '../errors.ts';
import type { OriginWatch } from './origin-watch.ts';
import type { PassOutcome } from './pass/pass.ts';

/** Passes that fetch from origin first. `request` runs one that begins after the call; they run one at a time. */
export interface OriginPasses extends SingleFlight<PassOutcome> {
  /** Runs a scheduled pass. If another manager polls origin, it does not fetch, but only follows the store. */
  runScheduled(): Promise<void>;
}

export function createOriginPasses(
  origin: OriginWatch,
  reconcile: () => Promise<PassOutcome>,
  isClosed: () => boolean,
): OriginPasses {
  const flight = createSingleFlight(async () => {
    if (!isClosed()) await origin.refresh();
    const outcome = await reconcile();
    if (!isClosed()) await origin.updateLease(outcome.ok || kindOf(outcome.error) === 'refused');
    return outcome;
  });
  const runScheduled = async (): Promise<void> => {
    if (await origin.shouldPoll()) await flight.request();
    else await reconcile();
  };
  return { ...flight, runScheduled };
}
