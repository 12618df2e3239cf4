import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { SectionContent } from '../../../src/ids/record/format.ts';
import { trustOf } from '../../../src/ids/seeding/trust.ts';
import { openClone } from '../../../src/source/git/clone/clone.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { testRepository } from '../../support/git.ts';
import { plumbingOf } from '../../support/plumbing.ts';

const NAMES = Array.from({ length: 10 }, (_, index) => `d${index}`);

describe('trustOf', () => {
  it('trusts no name if git cannot compare a later commit in time, even if that was reverted', async () => {
    const repository = await testRepository();
    const revision = await repository.commit({ 'ds/apps/a.yaml': 'container_image: a\n' });
    const git = plumbingOf(repository);
    let [mode, id] = ['100644', git.blob('container_image: bomb:1\n')];
    for (let level = 0; level < 9; level++)
      [mode, id] = ['40000', git.tree(NAMES.map((name) => ({ mode, name, id })))];
    git.publish(git.tree([{ mode: '40000', name: 'ds', id }]));
    const head = git.publish(await repository.git('rev-parse', `${revision}^{tree}`));
    const tree = await repository.git('rev-parse', `${revision}:ds`);
    const machine = { env: process.env, timeLimit: 2000 };
    const folder = join(repository.folder, 'ds');
    const dataFolder = await temporaryFolder();
    const { reader, close } = await openClone({ folder, branch: null, machine, dataFolder });
    onTestFinished(close);
    const meta = { revision, tree };
    const record = { meta, rows: [] } as unknown as SectionContent;
    const isTrusted = await trustOf(record, head, reader);
    expect(isTrusted('app/a')).toBe(false);
  });
});
