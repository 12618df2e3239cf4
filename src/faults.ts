import { HoldfastError } from './errors.ts';

/**
 * The steps of a write and of a pass at which the process can be made to die, in the order in which a write
 * comes by them. Tests name one in `HOLDFAST_FAULT`; nothing else does.
 */
export const FAULT_POINTS = [
  'repository-begun',
  'undo-begins',
  'undo-done',
  'pass-begins',
  'seed-done',
  'commit-written',
  'switch-noted',
  'tree-switched',
  'branch-moved',
  'branch-synced',
  'publish-done',
  'claim-begins',
  'claim-done',
  'apply-done',
  'write-done',
] as const;

export type FaultPoint = (typeof FAULT_POINTS)[number];

/** Told of every step; dies at the one that was asked for. */
export interface Faults {
  pass(point: FaultPoint): void;
}

/** Nothing is asked for: passing a point does nothing. */
export const NO_FAULTS: Faults = { pass: () => undefined };

/**
 * Reads `<point>` or `<point>:<n>`: `kill` is called when that point is passed for the n-th time. Unset or empty
 * gives `NO_FAULTS`. Throws `invalid` for anything else: a test must not pass because its point is not there.
 */
export function createFaults(setting: string | undefined, kill: () => void): Faults {
  if (setting === undefined || setting === '') return NO_FAULTS;
  const [, point, count = '1'] = /^([a-z-]+)(?::([1-9]\d*))?$/.exec(setting) ?? [];
  if (!FAULT_POINTS.some((known) => known === point)) {
    throw new HoldfastError('invalid', `HOLDFAST_FAULT: there is no point "${setting}"`);
  }
  let left = Number(count);
  return {
    pass: (passed) => {
      if (passed !== point) return;
      left -= 1;
      if (left === 0) kill();
    },
  };
}
