import { writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { FolderCommit } from '../../../../src/history/commit.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../../../support/git.ts';
import { openSource } from '../support.ts';

const ALL = { until: null, limit: 100, skipsFirst: false };

/** Runs `git` as another person. */
async function as({ git }: TestRepository, name: string, ...args: string[]): Promise<string> {
  return git('-c', `user.name=${name}`, ...args);
}

/** Commits all changes of the work tree as a person; resolves to the commit. */
async function commitAs(repository: TestRepository, name: string, message: string): Promise<string> {
  await repository.git('add', '--all');
  await repository.git('commit', '--quiet', '--allow-empty', `--author=${name} <${name}@x>`, '-m', message);
  return repository.git('rev-parse', 'HEAD');
}

function brief({ revision, files, sideAuthors }: FolderCommit) {
  return {
    revision,
    files: files.map(({ path, before, after }) => `${before ? '-' : ''}${after ? '+' : ''}${path}`),
    sideAuthors: sideAuthors.map(({ name }) => name),
  };
}

describe('log', () => {
  it('has each commit that changed the folder, newest first, with its people, time, message and files', async () => {
    const repository = await testRepository();
    const first = await repository.commit(
      { 'fleet/apps/web.yaml': 'a', other: 'x' },
      'one\n\nwhy\n\nKey: value',
    );
    await repository.commit({ other: 'y' });
    const second = await repository.commit({ 'fleet/apps/web.yaml': 'b', 'fleet/apps/größe.yaml': 'c' });
    const [blobA, blobB, blobC] = await Promise.all(
      [`${first}:fleet/apps/web.yaml`, 'HEAD:fleet/apps/web.yaml', 'HEAD:fleet/apps/größe.yaml'].map((name) =>
        repository.git('rev-parse', name),
      ),
    );
    const { reader } = await openSource(`${repository.folder}/fleet`);
    const { commits, next, isCut } = await reader.log({ ...ALL, from: second });
    const person = { name: 'Pat', email: 'pat@example.com' };
    expect({ next, isCut }).toEqual({ next: null, isCut: false });
    expect(commits).toEqual([
      {
        revision: second,
        parents: [await repository.git('rev-parse', 'HEAD^')],
        author: person,
        committer: person,
        time: Number(await repository.git('log', '-1', '--format=%ct')),
        message: 'change\n',
        sideAuthors: [],
        files: [
          { path: 'apps/größe.yaml', before: null, after: { type: 'file', blob: blobC } },
          {
            path: 'apps/web.yaml',
            before: { type: 'file', blob: blobA },
            after: { type: 'file', blob: blobB },
          },
        ],
      },
      expect.objectContaining({
        revision: first,
        parents: [],
        message: 'one\n\nwhy\n\nKey: value\n',
        files: [{ path: 'apps/web.yaml', before: null, after: { type: 'file', blob: blobA } }],
      }),
    ]);
  });

  it('comes in pages that together have each commit once', async () => {
    const repository = await testRepository();
    const made: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      made.unshift(await repository.commit({ a: `${count}` }));
      await repository.commit({ b: `${count}` });
    }
    const { reader } = await openSource(`${repository.folder}`);
    const all = await reader.log({ ...ALL, from: await repository.git('rev-parse', 'HEAD') });
    const found: string[] = [];
    let from: string | null = await repository.git('rev-parse', 'HEAD');
    for (let skipsFirst = false; from !== null; skipsFirst = true) {
      const page = await reader.log({ from, until: null, limit: 3, skipsFirst });
      found.push(...page.commits.map(({ revision }) => revision));
      from = page.next;
    }
    expect(found).toEqual(all.commits.map(({ revision }) => revision));
    expect(found).toHaveLength(10);
  });

  it('leaves out what `until` descends from', async () => {
    const repository = await testRepository();
    const first = await repository.commit({ a: '1' });
    const second = await repository.commit({ a: '2' });
    const third = await repository.commit({ a: '3' });
    const { reader } = await openSource(repository.folder);
    const { commits } = await reader.log({ ...ALL, from: third, until: first });
    expect(commits.map(({ revision }) => revision)).toEqual([third, second]);
  });

  it('reads a commit after its one parent as any other', async () => {
    const repository = await testRepository();
    await repository.commit({ 'fleet/a': '1', b: '' });
    const rows: [name: string, make: () => Promise<unknown>, files: number][] = [
      ['a change', () => repository.commit({ 'fleet/a': '2', 'fleet/c': 'end' }, 'end\n\nend\n'), 2],
      ['a deletion', () => repository.git('rm', '-q', 'fleet/c').then(() => repository.commit({})), 1],
      ['a file outside of the folder', () => repository.commit({ b: '2' }), 0],
      ['no file', () => commitAs(repository, 'eve', 'nothing'), 0],
      [
        'another encoding, and nobody',
        () => {
          const settings = [
            '-c',
            'i18n.commitEncoding=latin1',
            '-c',
            'user.name=J\u00f6',
            '-c',
            'user.email=',
          ];
          return repository.git(
            ...settings,
            'commit',
            '--quiet',
            '--allow-empty-message',
            '-am',
            '',
            '--allow-empty',
          );
        },
        0,
      ],
      ['a change of nobody', () => repository.commit({ 'fleet/a': '3' }, 'gr\u00f6\u00dfer'), 1],
    ];
    const { reader } = await openSource(`${repository.folder}/fleet`);
    for (const [name, make, files] of rows) {
      await make();
      const from = await repository.git('rev-parse', 'HEAD');
      const until = await repository.git('rev-parse', 'HEAD^');
      const one = await reader.log({ ...ALL, from, until });
      const [newest] = (await reader.log({ ...ALL, from, limit: 1 })).commits;
      expect(one, name).toEqual({ commits: files === 0 ? [] : [newest], next: null, isCut: false });
      expect(one.commits.flatMap((commit) => commit.files).length, name).toBe(files);
    }
  });

  it('has a merge once, with its difference to its first parent and the authors of its side commits', async () => {
    const repository = await testRepository();
    const base = await repository.commit({ a: '1' });
    await repository.git('switch', '--quiet', '-c', 'side');
    await repository.commit({ b: '1' });
    await commitAs(repository, 'ben', 'more');
    await repository.git('switch', '--quiet', '-c', 'other', base);
    await commitAs(repository, 'eve', 'outside of it all');
    await repository.git('switch', '--quiet', 'main');
    await as(repository, 'ana', 'merge', '--quiet', '--no-ff', '-m', 'merge other', 'other');
    await as(repository, 'ana', 'merge', '--quiet', '--no-ff', '-m', 'merge side', 'side');
    const { reader } = await openSource(repository.folder);
    const merge = await repository.git('rev-parse', 'HEAD');
    const { commits } = await reader.log({ ...ALL, from: merge });
    expect(commits.map(brief)).toEqual([
      { revision: merge, files: ['+b'], sideAuthors: ['Pat', 'ben'] },
      { revision: base, files: ['+a'], sideAuthors: [] },
    ]);
  });

  it('has a file that moved as one that went and one that came', async () => {
    const repository = await testRepository();
    await repository.commit({ a: '1' });
    await repository.git('mv', 'a', 'c');
    const revision = await repository.commit({});
    const { reader } = await openSource(repository.folder);
    const { commits } = await reader.log({ ...ALL, from: revision, limit: 1 });
    expect(commits.map(brief)).toEqual([{ revision, files: ['-a', '+c'], sideAuthors: [] }]);
  });

  it('ends at the boundary of a shallow clone, and says that it is cut there', async () => {
    const repository = await testRepository();
    for (const a of ['1', '2', '3', '4']) await repository.commit({ a });
    const clone = repositoryAt(`${await temporaryFolder()}/clone`);
    await repository.git('clone', '--quiet', '--depth=3', `file://${repository.folder}`, clone.folder);
    const { reader } = await openSource(clone.folder);
    const from = await clone.git('rev-parse', 'HEAD');
    const { commits, next, isCut } = await reader.log({ ...ALL, from });
    expect({ files: commits.map(({ files }) => files.length), next, isCut }).toEqual({
      files: [1, 1],
      next: null,
      isCut: true,
    });
  });

  it('has a commit whose message is larger than what git may say, without its message', async () => {
    const repository = await testRepository();
    const first = await repository.commit({ a: '1' });
    await repository.commit({ a: '2' });
    const message = `${await temporaryFolder()}/message`;
    await writeFile(message, `long\n\n${'x'.repeat(2 ** 27)}`);
    const revision = await repository.git(
      '-c',
      'core.compression=0',
      'commit-tree',
      'HEAD^{tree}',
      '-p',
      first,
      '-F',
      message,
    );
    await repository.git('reset', '--quiet', '--hard', revision);
    const { reader } = await openSource(repository.folder);
    // Each smaller page is tried, and each try reads the message.
    const { commits } = await reader.log({ ...ALL, from: revision, limit: 2 });
    expect(commits.map(({ message: text, files }) => [text.trim().length, files.length])).toEqual([[0, 1]]);
    const next = await reader.log({ ...ALL, from: revision, limit: 1, skipsFirst: true });
    expect(next.commits.map((commit) => commit.revision)).toEqual([first]);
    expect(await reader.isAncestor(first, revision)).toBe(true);
    expect((await reader.commit(revision)).message.startsWith('long')).toBe(true);
  });

  it('rejects as unavailable if the commit is missing', async () => {
    const repository = await testRepository();
    await repository.commit({ a: '' });
    const { reader } = await openSource(repository.folder);
    await expect(reader.log({ ...ALL, from: '1'.repeat(40) })).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
