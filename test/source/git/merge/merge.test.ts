import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { createMerge } from '../../../../src/source/git/merge/merge.ts';
import { openRemote } from '../../../../src/source/git/mirror/remote.ts';
import type { Merged, Source } from '../../../../src/source/source.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository } from '../../../support/git.ts';
import { remoteOptions } from '../../../support/origin.ts';
import { plumbingOf } from '../../../support/plumbing.ts';
import { MACHINE, machineWith, newRepository, openSource, repositoryOf } from '../support.ts';

const LINES = 'one\n\n\ntwo\n';

/** Commits `begun` to `main`, and then one change of it to `topic` and one to `main`; resolves to both commits. */
async function diverge(
  { git, commit }: TestRepository,
  begun: Record<string, string>,
  topic: Record<string, string | null>,
  main: Record<string, string | null>,
): Promise<[base: string, revision: string]> {
  await commit(begun);
  await git('switch', '--quiet', '--create', 'topic');
  const revision = await commit(topic);
  await git('switch', '--quiet', 'main');
  return [await commit(main), revision];
}

/** The conflicts of a merge, and its files with their texts. */
const read = async ({ files, blob, conflicts }: Merged) => {
  const texts: Record<string, string> = {};
  for (const { path, blob: id } of files) {
    const found = await blob(id, 1000);
    texts[path] = 'bytes' in found ? Buffer.from(found.bytes).toString() : 'missing';
  }
  return { conflicts, texts };
};

const merge = (source: Pick<Source, 'merge'>, [base, revision]: readonly [string, string]) =>
  source.merge(base, revision, read);

const BOTH = { conflicts: [], texts: { 'apps/a.yaml': '1\n\n\n2\n' } };

/** Both change one file, in different lines. */
const divergeCleanly = (repository: TestRepository) =>
  diverge(
    repository,
    { 'ds/apps/a.yaml': LINES },
    { 'ds/apps/a.yaml': LINES.replace('two', '2') },
    { 'ds/apps/a.yaml': LINES.replace('one', '1') },
  );

describe('a merge', () => {
  it.each(['sha1', 'sha256'])(
    'has what both sides have changed, with %s ids, and leaves nothing',
    async (format) => {
      const repository = await newRepository(`--object-format=${format}`);
      const commits = await divergeCleanly(repository);
      const dataFolder = await temporaryFolder();
      await writeFiles(dataFolder, { 'merge.git/HEAD': 'left by a killed process' });
      const source = await openSource(`${repository.folder}/ds`, null, { dataFolder });
      const objects = await repository.git('count-objects');
      const before = await readdir(dataFolder);
      expect(before).not.toContain('merge.git');
      expect(await Promise.all([merge(source, commits), merge(source, commits)])).toEqual([BOTH, BOTH]);
      expect(await readdir(dataFolder)).toEqual(before);
      expect(await repository.git('count-objects')).toBe(objects);
    },
  );

  it('works in a shallow clone that has the commit where the branches parted', async () => {
    const full = await newRepository();
    await full.commit({ 'ds/old.txt': 'old\n' });
    const commits = await divergeCleanly(full);
    const folder = await temporaryFolder();
    const { git } = repositoryAt(folder);
    await git('clone', '--quiet', '--depth=2', '--no-single-branch', `file://${full.folder}`, '.');
    const { texts } = await merge(await openSource(`${folder}/ds`), commits);
    expect(texts).toEqual({ ...BOTH.texts, 'old.txt': 'old\n' });
  });

  it('names the conflicts, also of a file that a folder is in the way of, and of files elsewhere', async () => {
    const repository = await newRepository();
    const commits = await diverge(
      repository,
      { 'ds/apps/a.yaml': LINES, 'ds/apps/b.yaml': LINES, notes: LINES },
      { 'ds/apps/a.yaml': null, 'ds/apps/x.yaml': 'file\n', notes: 'topic\n' },
      { 'ds/apps/a.yaml': '1\n', 'ds/apps/x.yaml/y.yaml': 'in a folder\n', notes: 'main\n' },
    );
    const { conflicts, texts } = await merge(await openSource(`${repository.folder}/ds`), commits);
    expect([...conflicts].sort()).toEqual(['../notes', 'apps/a.yaml', 'apps/x.yaml']);
    expect(texts).toMatchObject({ 'apps/b.yaml': LINES, 'apps/x.yaml/y.yaml': 'in a folder\n' });
    expect(Object.keys(texts).filter((path) => path.includes('~'))).toEqual([]);
  });

  it('that takes longer than the limit of git rejects as unavailable, and the next one is made', async () => {
    const repository = await newRepository();
    const commits = await divergeCleanly(repository);
    const slow = `${await temporaryFolder()}/slow`;
    const machine = await machineWith(
      `[ "$1" != merge-tree ] || ! mkdir "${slow}" 2>/dev/null || exec sleep 60`,
      3000,
    );
    const source = await openSource(`${repository.folder}/ds`, null, { machine });
    await expect(merge(source, commits)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'git could not merge the revision into the followed branch: not done within 3000 ms',
    });
    expect(await merge(source, commits)).toEqual(BOTH);
  });

  it('that needs more memory than git may take rejects as unavailable', async () => {
    const repository = await newRepository();
    const { blob, tree } = plumbingOf(repository);
    await repository.commit({ 'ds/apps/a.yaml': LINES });
    let bomb = tree([{ mode: '100644', name: 'f', id: blob('hi\n') }]);
    const names = Array.from({ length: 10 }, (_, index) => `d${index}`);
    for (let depth = 0; depth < 9; depth += 1)
      bomb = tree(names.map((name) => ({ mode: '40000', name, id: bomb })));
    const top = tree([{ mode: '40000', name: 'bomb', id: bomb }]);
    const topic = await repository.git('commit-tree', top, '-p', 'main', '-m', 'bomb');
    // git then looks in the whole bomb for where the file has gone.
    const main = await repository.commit({ 'ds/apps/a.yaml': '1\n', 'ds/apps/b.yaml': '2\n' });
    const merges = await createMerge(
      repositoryOf(repository.folder, 'ds'),
      await temporaryFolder(),
      MACHINE,
      2 ** 17,
    );
    await expect(merges(main, topic, read)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/followed branch: .*(?:memory|malloc)/),
    });
  });

  it('is made of commits that origin has', async () => {
    const repository = await newRepository();
    const files = { 'desired-state/apps/a.yaml': LINES };
    const commits = await diverge(repository, files, { 'desired-state/b': 'b' }, { 'desired-state/c': 'c' });
    const source = await openRemote(remoteOptions(repository.folder, await temporaryFolder()));
    try {
      await source.origin.refresh();
      await source.origin.find('topic');
      expect((await merge(source, commits)).texts).toEqual({ 'apps/a.yaml': LINES, b: 'b', c: 'c' });
    } finally {
      await source.close();
    }
  });
});

it('the mirror of an origin refuses a git that is too old', async () => {
  const { env } = await machineWith('[ "$1" != version ] || { echo "git version 2.37.9"; exit; }');
  const options = remoteOptions('/nonexistent', await temporaryFolder(), env['PATH']);
  await expect(openRemote(options)).rejects.toMatchObject({
    kind: 'invalid',
    message: 'git 2.37 is too old; install git 2.38 or newer',
  });
});
