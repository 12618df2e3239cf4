import { afterEach, expect, it, vi } from 'vitest';
import { foundOrRequired, works } from './tools.ts';

afterEach(() => vi.unstubAllEnvs());

it('lets tests be left out for a tool that is missing, unless the run requires it', () => {
  vi.stubEnv('HOLDFAST_TEST_REQUIRE', '');
  expect([foundOrRequired('strace', false), foundOrRequired('strace', true)]).toEqual([false, true]);
  vi.stubEnv('HOLDFAST_TEST_REQUIRE', ',openssl,strace');
  expect(() => foundOrRequired('strace', false)).toThrow('names strace');
  expect([foundOrRequired('strace', true), foundOrRequired('mongo', false)]).toEqual([true, false]);
});

it('takes a command that is not there, or fails, for one that does not work', () => {
  expect([works('true', []), works('false', []), works('no-such-command-here', [])]).toEqual([
    true,
    false,
    false,
  ]);
});
