import type { Convergence } from '../../src/protocol/device.ts';

/** The counts of a manager that knows no devices, but one empty group. */
export function noDevices(): Promise<Convergence> {
  const none = {
    devices: 0,
    current: 0,
    behind: 0,
    failed: 0,
    silent: 0,
    unknown: 0,
    expected: 0,
    anonymous_polls: 0,
  };
  return Promise.resolve({ revision: null, groups: [{ group: 'edge', ...none }], totals: none });
}
