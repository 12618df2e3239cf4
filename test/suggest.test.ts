import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closestName } from '../src/suggest.ts';

const NAMES = ['port', 'host', 'git-remote', 'git-token', 'git-token-file', 'data-dir'];

describe('closestName', () => {
  it.each([
    ['a letter too many', 'portt', 'port'],
    ['a letter too few', 'prt', 'port'],
    ['another letter', 'bost', 'host'],
    ['two letters swapped', 'prot', 'port'],
    ['two mistakes in a long name', 'gti-remotee', 'git-remote'],
    ['the name itself, with dashes and a value', '--git-token=abc', 'git-token'],
    ['upper case and underscores', 'GIT_TOKEN_FILE', 'git-token-file'],
    ['the closer of two', 'git-token-fil', 'git-token-file'],
    ['the same of both sides', '--data_dri', 'data-dir'],
    ['of two that are equally close, the one with the same first letter', '--post', 'port'],
    ['the only name that has the word between dashes', '--remote', 'git-remote'],
    ['the only name that begins with the word', '--data', 'data-dir'],
  ])('finds %s', (_what, misspelt, name) => {
    expect(closestName(misspelt, NAMES)).toBe(name);
  });

  it.each([
    '',
    '-',
    '--',
    'p',
    'ho',
    'prut',
    'colour',
    'git',
    'token',
    'dat',
    'no-git-token',
    '__proto__',
    'x'.repeat(1e6),
  ])('finds nothing for %.20s', (misspelt) => {
    expect(closestName(misspelt, NAMES)).toBeNull();
  });

  it('finds nothing if several names are equally close', () => {
    expect(closestName('nost', ['host', 'cost', 'nosy', 'not'])).toBeNull();
    expect(closestName('nost', ['host', 'cost', 'nosy'])).toBe('nosy');
  });

  it.each(['export', 'report', 'restore'])('finds nothing for %s if one mistake is allowed', (misspelt) => {
    expect(closestName(misspelt, ['import', 'store'], 1)).toBeNull();
    expect(closestName(misspelt, ['import', 'store'])).not.toBeNull();
  });

  it('finds a long name in which one letter is replaced, whichever it is', () => {
    const anyName = fc.constantFrom('git-remote', 'git-token-file', 'data-dir');
    fc.assert(
      fc.property(anyName, fc.nat(), fc.constantFrom('x', '7', '%'), (name, place, letter) => {
        const index = place % name.length;
        const misspelt = name.slice(0, index) + letter + name.slice(index + 1);
        expect(closestName(misspelt, NAMES)).toBe(name);
      }),
    );
  });
});
