import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { kindOf } from '../../src/errors.ts';
import { oidGenerator } from '../../src/store/object-id.ts';

const RANDOM = () => Buffer.from('0102030405', 'hex');
const SECOND = 0x65000000;
const AT = SECOND * 1000;

describe('oidGenerator', () => {
  it('composes ids of seconds, random bytes and a counter', () => {
    const next = oidGenerator(RANDOM, null);
    expect([next(AT), next(AT + 999), next(AT + 1000)]).toEqual([
      '650000000102030405000000',
      '650000000102030405000001',
      '650000010102030405000000',
    ]);
  });

  it('continues in the same second if the clock is set back or invalid', () => {
    const next = oidGenerator(RANDOM, null);
    next(AT);
    expect(next(AT - 3_600_000)).toBe('650000000102030405000001');
    expect(next(Number.NaN)).toBe('650000000102030405000002');
    expect(next(AT + 1000)).toBe('650000010102030405000000');
  });

  it('continues above the highest existing id, even if it was not generated here', () => {
    expect(oidGenerator(RANDOM, '650000000102030405ffffff')(AT)).toBe('650000000102030406000000');
    expect(oidGenerator(RANDOM, '65000000ffffffffffffffff')(AT)).toBe('650000010000000000000000');
    expect(oidGenerator(RANDOM, '640000000000000000000000')(AT)).toBe('650000000102030405000000');
  });

  it('takes new random bytes in each second', () => {
    let byte = 0;
    const next = oidGenerator((size) => Buffer.alloc(size, ++byte), null);
    expect([next(AT), next(AT + 1000)]).toEqual(['650000000101010101000000', '650000010202020202000000']);
  });

  it('throws an internal error if there is no higher id', () => {
    const next = oidGenerator(RANDOM, 'fffffffe0000000000000000');
    expect(next(AT)).toBe('fffffffe0000000000000001');
    expect(next(Number.MAX_SAFE_INTEGER)).toBe('ffffffff0102030405000000');
    expect(next(Number.MAX_SAFE_INTEGER)).toBe('ffffffff0102030405000001');
    const over = oidGenerator(RANDOM, 'f'.repeat(24));
    let caught: unknown;
    try {
      over(AT);
    } catch (error) {
      caught = error;
    }
    expect(kindOf(caught)).toBe('internal');
  });

  it('always ascends, even over jumps of the clock and restarts', () => {
    const run = fc.record({
      random: fc.uint8Array({ minLength: 5, maxLength: 5 }),
      clock: fc.array(fc.integer({ min: 0, max: 4_000_000_000_000 }), { maxLength: 30 }),
    });
    fc.assert(
      fc.property(fc.array(run, { maxLength: 6 }), (runs) => {
        let highest: string | null = null;
        for (const { random, clock } of runs) {
          const next = oidGenerator(() => random, highest);
          for (const at of clock) {
            const id = next(at);
            expect(id).toMatch(/^[0-9a-f]{24}$/);
            if (highest !== null) expect(id > highest).toBe(true);
            expect(Number.parseInt(id.slice(0, 8), 16)).toBeGreaterThanOrEqual(Math.floor(at / 1000));
            highest = id;
          }
        }
      }),
    );
  });
});
