import { HoldfastError } from './errors.ts';

/**
 * The points of a write and of a pass at which a test can kill the process, in the order in which a write reaches them.
 * Only tests set `HOLDFAST_FAULT` to one of these names.
 */
export const FAULT_POINTS = [
  'repository-begun',
  'pass-begins',
  'seed-done',
  'commit-written',
  'branch-moved',
  'branch-synced',
  'publish-done',
  'claim-begins',
  'claim-done',
  'apply-done',
  'write-done',
  'entries-added',
  'worker-step-begins',
  'worker-step-done',
] as const;

export type FaultPoint = (typeof FAULT_POINTS)[number];

/** Is called at every fault point, and kills the process at the requested one. */
export interface Faults {
  pass(point: FaultPoint): void;
}

/** No fault is requested: passing a point does nothing. */
export const NO_FAULTS: Faults = { pass: () => undefined };

/**
 * Parses `<point>` or `<point>:<n>` and returns faults that call `kill` when that point is passed for the n-th time.
 * Returns `NO_FAULTS` if the setting is undefined or empty. Throws `invalid` for anything else, so that a test with a
 * misspelt point does not pass.
 */
export function createFaults(setting: string | undefined, kill: () => void): Faults {
  if (setting === undefined || setting === '') return NO_FAULTS;
  const [, point, count = '1'] = /^([a-z-]+)(?::([1-9]\d*))?$/.exec(setting) ?? [];
  if (!FAULT_POINTS.some((known) => known === point)) {
    throw new HoldfastError('invalid', `HOLDFAST_FAULT: there is no point "${setting}"`);
  }
  let remaining = Number(count);
  return {
    pass: (passed) => {
      if (passed !== point) return;
      remaining -= 1;
      if (remaining === 0) kill();
    },
  };
}
