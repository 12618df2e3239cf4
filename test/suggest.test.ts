import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { closestName } from '../src/suggest.ts';

const NAMES = ['port', 'host', 'git-remote', 'git-token', 'git-token-file', 'data-dir'];

describe('closestName', () => {
  it.each([
    ['a letter too many', 'portt', 'port'],
    ['a letter too few', 'prt', 'port'],
    ['a wrong letter', 'bost', 'host'],
    ['two swapped letters', 'prot', 'port'],
    ['two mistakes in a long name', 'gti-remotee', 'git-remote'],
    ['dashes before it and a value after it', '--git-token=abc', 'git-token'],
    ['upper case, underscores and a letter too few', 'GIT_TOKEN_FLE', 'git-token-file'],
    ['two swapped letters, dashes and an underscore', '--data_dri', 'data-dir'],
  ])('finds a name despite %s', (_what, misspelt, name) => {
    expect(closestName(misspelt, NAMES)).toBe(name);
  });

  it.each([
    ['the closer of two names', 'git-token-fil', 'git-token-file'],
    ['the one with the same first letter of two equally close names', '--post', 'port'],
    ['the only name that contains the word between dashes', '--remote', 'git-remote'],
    ['the only name that begins with the word', '--data', 'data-dir'],
  ])('finds %s', (_what, misspelt, name) => {
    expect(closestName(misspelt, NAMES)).toBe(name);
  });

  it.each(['', '-', '--', 'p', 'ho', 'prut', 'colour', 'git', 'token', 'dat', 'no-git-token', '__proto__'])(
    'returns null for %j, which is close to no name',
    (misspelt) => {
      expect(closestName(misspelt, NAMES)).toBeNull();
    },
  );

  it('returns null for a very long text', () => {
    expect(closestName('x'.repeat(1e6), NAMES)).toBeNull();
  });

  it('returns null if several names are equally close', () => {
    expect(closestName('nost', ['host', 'cost', 'nosy', 'not'])).toBeNull();
    expect(closestName('nost', ['host', 'cost', 'nosy'])).toBe('nosy');
  });

  it.each(['export', 'report', 'restore'])(
    'returns null for %s if only one mistake is allowed',
    (misspelt) => {
      expect(closestName(misspelt, ['import', 'store'], 1)).toBeNull();
      expect(closestName(misspelt, ['import', 'store'])).not.toBeNull();
    },
  );

  it('finds a long name in which any one letter is replaced', () => {
    const anyName = fc.constantFrom('git-remote', 'git-token-file', 'data-dir');
    fc.assert(
      fc.property(anyName, fc.nat(), fc.constantFrom('x', '7', '%'), (name, number, letter) => {
        const index = number % name.length;
        const misspelt = name.slice(0, index) + letter + name.slice(index + 1);
        expect(closestName(misspelt, NAMES)).toBe(name);
      }),
    );
  });
});
