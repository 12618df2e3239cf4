import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { classifyPath, desiredStateFolderOf, newFilePath } from '../../src/desired/file.ts';
import { keyOf, NAME_PATTERN, Name, parseKey } from '../../src/protocol/name.ts';

describe('classifyPath', () => {
  it.each([
    ['apps/web.yaml', 'app', 'web'],
    ['apps/web.yml', 'app', 'web'],
    ['apps/team/shop/web.yaml', 'app', 'web'],
    ['apps/a.b_c-D9.yaml', 'app', 'a.b_c-D9'],
    ['apps/web.yaml.yaml', 'app', 'web.yaml'],
    ['apps/README.yaml', 'app', 'README'],
    ['apps/LICENSE.yml', 'app', 'LICENSE'],
    ['apps/notes.md.yaml', 'app', 'notes.md'],
    ['apps/device-groups/x.yaml', 'app', 'x'],
    [`apps/${'a'.repeat(128)}.yaml`, 'app', 'a'.repeat(128)],
    ['apps/not a name/web.yaml', 'app', 'web'],
    ['device-groups/edge.yaml', 'device_group', 'edge'],
    ['device-groups/eu/edge.yml', 'device_group', 'edge'],
  ])('%s is an object', (path, kind, name) => {
    expect(classifyPath(path)).toEqual({ role: 'object', kind, name });
  });

  it.each([
    '.gitignore',
    '.github/workflows/check.yaml',
    'apps/.web.yaml',
    'apps/.hidden/web.yaml',
    'README',
    'README.txt',
    'readme.md',
    'apps/README.md',
    'apps/team/NOTES.MD',
    'LICENSE',
    'LICENSE.txt',
    'docs/how.md',
  ])('%s is ignored', (path) => {
    expect(classifyPath(path)).toEqual({ role: 'ignored' });
  });

  it.each([
    'apps/.git/config',
    'apps/.GIT/web.yaml',
    '.git/apps/web.yaml',
    'apps/../web.yaml',
    'apps/./web.yaml',
    'apps//web.yaml',
    '',
  ])('%j is an error, because git makes no tree with such a path', (path) => {
    expect(classifyPath(path)).toMatchObject({
      role: 'problem',
      severity: 'error',
      problem: { code: 'file-unreadable' },
    });
  });

  it.each(['web.yaml', 'apps.yaml', 'apps/web.json', 'apps/web', 'apps/web.yaml~', 'x/apps/web.yaml'])(
    '%s is an unexpected file',
    (path) => {
      expect(classifyPath(path)).toMatchObject({
        role: 'problem',
        severity: 'warning',
        problem: {
          line: 1,
          column: 1,
          code: 'file-unexpected',
          message:
            'is not read: apps are apps/**/NAME.yaml, device groups are device-groups/**/NAME.yaml and devices are devices/**/NAME.yaml; move or remove it',
        },
      });
    },
  );

  it.each([
    ['app/web.yaml', 'is not read: it must be in apps/; move it there'],
    ['Apps/shop/web.yml', 'is not read: it must be in apps/; move it there'],
    ['device_groups/edge.yaml', 'is not read: it must be in device-groups/; move it there'],
    ['groups/edge.yaml', 'is not read: it must be in device-groups/; move it there'],
    ['apps/web.YAML', 'is not read: its name must end in .yaml or .yml, in lower case; rename it'],
    ['device-groups/edge.Yml', 'is not read: its name must end in .yaml or .yml, in lower case; rename it'],
  ])('%s is an unexpected file, with advice on where it belongs', (path, message) => {
    expect(classifyPath(path)).toMatchObject({
      severity: 'warning',
      problem: { code: 'file-unexpected', message },
    });
  });

  it.each([
    'apps/not a name.yaml',
    'apps/-web.yaml',
    'apps/_web.yaml',
    'apps/wéb.yaml',
    'apps/web\n.yaml',
    `apps/${'a'.repeat(129)}.yaml`,
    'device-groups/a+b.yml',
  ])('%j is an error, because its name is invalid', (path) => {
    const role = classifyPath(path);
    expect(role).toMatchObject({ role: 'problem', severity: 'error', problem: { code: 'name-invalid' } });
    expect(role.role === 'problem' && role.problem.message).toMatch(
      /^the file's name is .*; rename the file$/,
    );
  });

  it('accepts any path without throwing', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (path) => void classifyPath(path)));
  });

  it('recognizes the path of every new file as its object', () => {
    fc.assert(
      fc.property(fc.constantFrom('app', 'device_group'), fc.stringMatching(NAME_PATTERN), (kind, name) => {
        expect(classifyPath(newFilePath(kind, name))).toEqual({ role: 'object', kind, name });
      }),
    );
  });
});

describe('desiredStateFolderOf', () => {
  it.each([
    ['fleet/apps/web.yaml', 'fleet'],
    ['a/b/device-groups/eu/edge.yml', 'a/b'],
    ['x/apps/apps/web.yaml', 'x/apps'],
    ['apps/web.yaml', null],
    ['fleet/apps/web.txt', null],
    ['fleet/apps/.yaml', null],
  ])('of %s is %j', (path, folder) => {
    expect(desiredStateFolderOf(path)).toBe(folder);
  });

  it('is found in linear time, however deep the path is', () => {
    const start = performance.now();
    expect(desiredStateFolderOf(`${'apps/'.repeat(30_000)}x`)).toBe(null);
    expect(performance.now() - start).toBeLessThan(500);
  });
});

describe('names', () => {
  it.each(['a', '9', 'A.b_c-d', 'a'.repeat(128)])('%j is valid', (name) => {
    expect(Name.safeParse(name).success).toBe(true);
  });

  it.each(['', 'a'.repeat(129), '.a', '-a', 'a/b', 'a b', 'a\n', 'é'])('%j is invalid', (name) => {
    expect(Name.safeParse(name).success).toBe(false);
  });

  it('are read back from their keys', () => {
    fc.assert(
      fc.property(fc.constantFrom('app', 'device_group'), fc.string(), (kind, name) => {
        expect(parseKey(keyOf(kind, name))).toEqual({ kind, name });
      }),
    );
  });
});
