import { afterEach, describe, expect, it, vi } from 'vitest';
import { foundOrRequired, works } from './tools.ts';

afterEach(() => vi.unstubAllEnvs());

describe('foundOrRequired', () => {
  it('throws for a missing tool only if the run requires it', () => {
    vi.stubEnv('HOLDFAST_TEST_REQUIRE', '');
    expect([foundOrRequired('strace', false), foundOrRequired('strace', true)]).toEqual([false, true]);
    vi.stubEnv('HOLDFAST_TEST_REQUIRE', ',openssl,strace');
    expect(() => foundOrRequired('strace', false)).toThrow('names strace');
    expect([foundOrRequired('strace', true), foundOrRequired('mongo', false)]).toEqual([true, false]);
  });
});

describe('works', () => {
  it('is true for a command that exits with 0, and false for one that fails or does not exist', () => {
    expect([works('true', []), works('false', []), works('no-such-command-here', [])]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
