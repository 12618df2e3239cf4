import { describe, expect, it } from 'vitest';
import { createFaults, FAULT_POINTS, NO_FAULTS } from '../src/faults.ts';

describe('HOLDFAST_FAULT', () => {
  it.each([undefined, ''])('%j requests no fault', (setting) => {
    expect(createFaults(setting, () => undefined)).toBe(NO_FAULTS);
  });

  it.each(FAULT_POINTS)('%s kills the process when that point is passed, and only then', (point) => {
    const passed: string[] = [];
    let now = '';
    const faults = createFaults(point, () => void passed.push(now));
    for (now of FAULT_POINTS) faults.pass(now as (typeof FAULT_POINTS)[number]);
    expect(passed).toEqual([point]);
  });

  it('with a number kills the process when the point is passed for that many times', () => {
    let kills = 0;
    const faults = createFaults('apply-done:3', () => {
      kills += 1;
    });
    faults.pass('apply-done');
    faults.pass('claim-done');
    faults.pass('apply-done');
    expect(kills).toBe(0);
    faults.pass('apply-done');
    expect(kills).toBe(1);
  });

  it.each(['nowhere', 'apply-done:0', 'apply-done:', 'apply-done:x', ' apply-done'])(
    '%j is refused, so that a test with a misspelt point does not pass',
    (setting) => {
      expect(() => createFaults(setting, () => undefined)).toThrow(
        expect.objectContaining({ kind: 'invalid' }),
      );
    },
  );
});
