import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { trustOf } from '../../../src/ids/seeding/trust.ts';
import { openClone } from '../../../src/source/git/clone/clone.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { testRepository } from '../../support/git.ts';
import { plumbingOf } from '../../support/plumbing.ts';

const NAMES = Array.from({ length: 10 }, (_, index) => `d${index}`);

describe('trustOf', () => {
  it('trusts no name if git cannot read a later commit in time, even if that was reverted', async () => {
    const repository = await testRepository();
    const revision = await repository.commit({ 'ds/apps/a.yaml': 'container_image: a\n' });
    const git = plumbingOf(repository);
    let [mode, id] = ['100644', git.blob('container_image: bomb:1\n')];
    for (let level = 0; level < 9; level++)
      [mode, id] = ['40000', git.tree(NAMES.map((name) => ({ mode, name, id })))];
    git.publish(git.tree([{ mode: '40000', name: 'ds', id }]));
    const head = git.publish(await repository.git('rev-parse', `${revision}^{tree}`));
    const machine = { env: process.env, timeLimit: 2000 };
    const folder = join(repository.folder, 'ds');
    const dataFolder = await temporaryFolder();
    const { reader, close } = await openClone({ folder, branch: null, machine, dataFolder });
    onTestFinished(close);
    const isTrusted = await trustOf(revision, head, reader);
    expect(isTrusted('app/a')).toBe(false);
  });

  it.each<[string, string[], string[]]>([
    ['everything if no file was touched', [], ['app/a', 'app/b', 'device_group/g', 'device_group/h']],
    ['no app whose file was touched', ['apps/x/a.yaml'], ['app/b', 'device_group/g', 'device_group/h']],
    ['no group whose file was touched', ['device-groups/g.yml'], ['app/a', 'app/b', 'device_group/h']],
    [
      'everything if only other files were touched',
      ['README.md'],
      ['app/a', 'app/b', 'device_group/g', 'device_group/h'],
    ],
  ])('trusts %s', async (_, touched, trusted) => {
    const reader = { isAncestor: async () => true, touchedPaths: async () => new Set(touched) };
    const isTrusted = await trustOf('recorded', 'head', reader);
    expect(['app/a', 'app/b', 'device_group/g', 'device_group/h'].filter(isTrusted)).toEqual(trusted);
  });

  it.each<[string, string | null, string | null, boolean]>([
    ['nothing was applied when the record was written', null, 'head', true],
    ['the branch is empty', 'recorded', null, true],
    ['the head does not descend from the recorded revision', 'recorded', 'head', false],
  ])('trusts nothing if %s', async (_, recorded, head, descends) => {
    const reader = { isAncestor: async () => descends, touchedPaths: async () => new Set<string>() };
    expect((await trustOf(recorded, head, reader))('app/a')).toBe(false);
  });
});
