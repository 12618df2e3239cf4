import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../../../support/git.ts';
import { plumbingOf } from '../../../support/plumbing.ts';
import { draftOf, newRepository, openSource, publishOne } from '../support.ts';

const APP = 'container_image: a\n';
/** What a git that came later writes into its repositories. */
const NEWER = '[core]\nrepositoryformatversion = 1\n[extensions]\nfromTheFuture = true\n';

/** Forgets everything that no branch reaches. */
async function prune({ git }: TestRepository): Promise<void> {
  await git('reflog', 'expire', '--expire=now', '--all');
  await git('gc', '--quiet', '--prune=now');
}

/**
 *   a - b - c - m    main
 *        \     /
 *         s --     side
 *   x            another root
 */
async function branchyRepository() {
  const repository = await testRepository();
  const a = await repository.commit({ 'ds/apps/a.yaml': APP });
  const b = await repository.commit({ 'ds/apps/b.yaml': APP });
  await repository.git('switch', '--quiet', '-c', 'side');
  const s = await repository.commit({ 'ds/apps/s.yaml': APP });
  await repository.git('switch', '--quiet', 'main');
  const c = await repository.commit({ 'else.txt': 'c' });
  await repository.git('merge', '--quiet', '--no-ff', '-m', 'merge', 'side');
  const m = await repository.git('rev-parse', 'HEAD');
  await repository.git('switch', '--quiet', '--orphan', 'root');
  const x = await repository.commit({ 'ds/apps/x.yaml': APP });
  await repository.git('switch', '--quiet', 'main');
  return { repository, revisions: { a, b, c, s, m, x } };
}

describe('isAncestor', () => {
  const rows = [
    { ancestor: 'a', revision: 'b', is: true, why: 'its parent' },
    { ancestor: 'a', revision: 'm', is: true, why: 'far before it' },
    { ancestor: 's', revision: 'm', is: true, why: 'the second parent of a merge' },
    { ancestor: 'c', revision: 'm', is: true, why: 'the first parent of a merge' },
    { ancestor: 'b', revision: 'b', is: true, why: 'itself' },
    { ancestor: 'b', revision: 'a', is: false, why: 'its child' },
    { ancestor: 'c', revision: 's', is: false, why: 'on another branch' },
    { ancestor: 'x', revision: 'm', is: false, why: 'of another root' },
  ] as const;

  it('is told of every pair', async () => {
    const { repository, revisions } = await branchyRepository();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    const told = await Promise.all(
      rows.map(({ ancestor, revision }) => reader.isAncestor(revisions[ancestor], revisions[revision])),
    );
    expect(rows.map((row, index) => ({ ...row, is: told[index] }))).toEqual(rows);
  });

  it('is false of a revision that was pruned, or never was', async () => {
    const repository = await testRepository();
    const first = await repository.commit({ a: '1' });
    const gone = await repository.commit({ a: '2' });
    await repository.git('reset', '--quiet', '--hard', first);
    const now = await repository.commit({ a: '3' });
    const { reader } = await openSource(repository.folder);
    expect(await reader.isAncestor(gone, now)).toBe(false);
    await prune(repository);
    expect(await reader.isAncestor(gone, now)).toBe(false);
    expect(await reader.isAncestor('1'.repeat(40), now)).toBe(false);
  });

  it('does not take a text of the message for a parent', async () => {
    const repository = await testRepository();
    const other = await repository.commit({ a: '1' });
    await repository.git('switch', '--quiet', '--orphan', 'root');
    const now = await repository.commit({ b: '1' }, `x\n\nparent ${other}\n\nparent ${other}`);
    const { reader } = await openSource(repository.folder);
    expect(await reader.isAncestor(other, now)).toBe(false);
  });

  it('cannot be told of a descendant that is not there', async () => {
    const repository = await testRepository();
    const revision = await repository.commit({ a: '1' });
    const { reader } = await openSource(repository.folder);
    await expect(reader.isAncestor(revision, '1'.repeat(40))).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('lastChange', () => {
  it('is the newest commit that changed the folder, also one that emptied it', async () => {
    const repository = await testRepository();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    const before = await repository.commit({ 'else.txt': '0' });
    expect(await reader.lastChange(before)).toBeNull();
    const first = await repository.commit({ 'ds/apps/a.yaml': APP });
    const second = await repository.commit({ 'else.txt': '1' });
    expect(await reader.lastChange(second)).toBe(first);
    const emptied = await repository.commit({ 'ds/apps/a.yaml': null });
    const after = await repository.commit({ 'else.txt': '2', 'dsx/a': '' });
    expect(await reader.lastChange(after)).toBe(emptied);
  });

  it('of a folder at the top is every commit that changes anything', async () => {
    const repository = await testRepository();
    const { reader } = await openSource(repository.folder);
    const revision = await repository.commit({ a: '' });
    await repository.git('commit', '--quiet', '--allow-empty', '-m', 'nothing');
    expect(await reader.lastChange(await repository.git('rev-parse', 'HEAD'))).toBe(revision);
  });

  it('takes the folder for a name, not for a pattern', async () => {
    const repository = await testRepository();
    const revision = await repository.commit({ 'd*s/a': '' });
    const { reader } = await openSource(join(repository.folder, 'd*s'));
    const other = await repository.commit({ 'dxs/a': '' });
    expect(await reader.lastChange(other)).toBe(revision);
  });
});

describe('history', () => {
  const pathsOf = async (repository: TestRepository, below = 'ds'): Promise<string[]> => {
    const { reader } = await openSource(join(repository.folder, below));
    return [...(await reader.history()).paths].sort();
  };

  it('of a repository without a commit is empty', async () => {
    const { reader } = await openSource((await testRepository()).folder);
    expect(await reader.history()).toEqual({ paths: new Set(), newestCommit: 0, isComplete: true });
  });

  it('has the names of every branch and every root, and of merges', async () => {
    const { repository } = await branchyRepository();
    expect(await pathsOf(repository)).toEqual(['a', 'b', 's', 'x'].map((name) => `apps/${name}.yaml`));
  });

  it('has names that were deleted, renamed, or only there for one commit', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/deleted.yaml': APP, 'ds/apps/old.yaml': APP, 'else.yaml': APP });
    await repository.git('mv', 'ds/apps/old.yaml', 'ds/apps/new.yaml');
    await repository.commit({ 'ds/apps/deleted.yaml': null, 'ds/apps/short.yaml': APP });
    await repository.commit({ 'ds/apps/short.yaml': null });
    expect(await pathsOf(repository)).toEqual(
      ['deleted', 'new', 'old', 'short'].map((name) => `apps/${name}.yaml`),
    );
  });

  it('has names from before a graft, which cuts off what people see', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/old.yaml': APP });
    await repository.commit({ 'ds/apps/old.yaml': null });
    const last = await repository.commit({ 'ds/apps/new.yaml': APP });
    await mkdir(join(repository.folder, '.git/info'), { recursive: true });
    await writeFile(join(repository.folder, '.git/info/grafts'), `${last}\n`);
    await repository.git('reflog', 'expire', '--expire=now', '--all');
    expect(await repository.git('rev-list', '--count', 'HEAD')).toBe('1');
    expect(await pathsOf(repository)).toEqual(['apps/new.yaml', 'apps/old.yaml']);
    const { reader } = await openSource(join(repository.folder, 'ds'));
    // What git says of the deprecated file must not stand before what it complains about.
    const complaint = await reader.touchedPaths('f'.repeat(40), last).catch((error: Error) => error.cause);
    expect(String(complaint)).toMatch(/^GitFailure: git log failed: fatal: bad object/);
  });

  it('has a name that only a merge commit brought', async () => {
    const { repository } = await branchyRepository();
    await repository.git('switch', '--quiet', '-c', 'evil', 'side');
    await repository.commit({ 'else2.txt': '1' });
    await repository.git('merge', '--quiet', '--no-commit', '--no-ff', 'main');
    await repository.commit({ 'ds/apps/evil.yaml': APP }, 'merge');
    await repository.git('rm', '--quiet', 'ds/apps/evil.yaml');
    await repository.commit({});
    expect(await pathsOf(repository)).toContain('apps/evil.yaml');
  });

  it('has names of a side branch whose merge took nothing from it', async () => {
    const { repository } = await branchyRepository();
    await repository.git('switch', '--quiet', '-c', 'ours');
    await repository.commit({ 'ds/apps/dropped.yaml': APP });
    await repository.git('switch', '--quiet', 'main');
    await repository.git('merge', '--quiet', '-s', 'ours', '-m', 'take nothing', 'ours');
    await repository.git('branch', '--quiet', '-D', 'ours');
    expect(await pathsOf(repository)).toContain('apps/dropped.yaml');
  });

  it('has names of commits that were reset away, as long as git has them', async () => {
    const repository = await testRepository();
    const first = await repository.commit({ 'ds/apps/a.yaml': APP });
    await repository.commit({ 'ds/apps/reset.yaml': APP });
    await repository.git('reset', '--quiet', '--hard', first);
    await repository.commit({ 'ds/apps/amended.yaml': APP });
    await repository.git('rm', '--quiet', 'ds/apps/amended.yaml');
    await repository.git('commit', '--quiet', '--amend', '--allow-empty', '-m', 'again');
    expect(await pathsOf(repository)).toEqual(['a', 'amended', 'reset'].map((name) => `apps/${name}.yaml`));
    await prune(repository);
    expect(await pathsOf(repository)).toEqual(['apps/a.yaml']);
  });

  it('has names that only a tag, a stash, or another work tree reaches', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/a.yaml': APP });
    const linked = repositoryAt(join(await temporaryFolder(), 'linked'));
    await repository.git('worktree', 'add', '--quiet', '--detach', linked.folder);
    await linked.commit({ 'ds/apps/linked.yaml': APP });
    await repository.git('switch', '--quiet', '--detach');
    await repository.commit({ 'ds/apps/tagged.yaml': APP });
    await repository.git('tag', 'v1');
    await repository.git('switch', '--quiet', 'main');
    await prune(repository);
    expect(await pathsOf(repository)).toEqual(['a', 'linked', 'tagged'].map((name) => `apps/${name}.yaml`));
  });

  it('has odd names, and none from beside the folder', async () => {
    const repository = await testRepository();
    const odd = ['apps/größe.yaml', 'apps/with space', 'apps/"q"', '-dash', 'a\nb'];
    await repository.commit(
      Object.fromEntries([...odd.map((path) => [`ds/${path}`, '']), ['dsx/beside', '']]),
    );
    expect(await pathsOf(repository)).toEqual([...odd].sort());
    expect(await pathsOf(repository, '')).toContain('dsx/beside');
  });

  it('has names that the manager itself committed', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/a.yaml': APP });
    const source = await openSource(join(repository.folder, 'ds'));
    await publishOne(source, { 'apps/api.yaml': APP });
    expect([...(await source.reader.history()).paths].sort()).toEqual(['apps/a.yaml', 'apps/api.yaml']);
  });

  it('knows the newest commit of all branches', async () => {
    const repository = await testRepository();
    await repository.commit({ a: '' });
    const source = await openSource(repository.folder);
    const future = 4_000_000_000;
    await source.publisher.publish(await source.reader.head(), [draftOf({ b: '' }, { at: future * 1000 })]);
    await repository.git('reset', '--quiet', '--hard', 'HEAD~1');
    expect((await source.reader.history()).newestCommit).toBe(future);
  });

  it.each([
    { name: 'a clone', options: [], isComplete: true },
    { name: 'a clone made with a depth', options: ['--depth=1'], isComplete: false },
  ])('of $name is complete: $isComplete', async ({ options, isComplete }) => {
    const origin = await testRepository();
    await origin.commit({ 'ds/apps/old.yaml': APP, 'ds/apps/a.yaml': APP });
    await origin.commit({ 'ds/apps/old.yaml': null });
    const clone = repositoryAt(join(await temporaryFolder(), 'clone'));
    await origin.git('clone', '--quiet', ...options, `file://${origin.folder}`, clone.folder);
    const { reader } = await openSource(join(clone.folder, 'ds'));
    const history = await reader.history();
    expect(history.isComplete).toBe(isComplete);
    expect(history.paths.has('apps/old.yaml')).toBe(isComplete);
  });
});

describe('a history that git tells at length', () => {
  const FOLDERS = Array.from({ length: 11 }, (_, index) => `${index % 10}`.repeat(240 + index));

  /** A commit of one folder `ds` in which one file stands under `11 ** levels` names. */
  function publishMany(repository: TestRepository, levels: number, text = APP): string {
    const git = plumbingOf(repository);
    let [mode, id] = ['100644', git.blob(text)];
    for (let level = 0; level < levels; level++)
      [mode, id] = ['40000', git.tree(FOLDERS.map((name) => ({ mode, name, id })))];
    return git.publish(git.tree([{ mode: '40000', name: 'ds', id }]));
  }

  it('is whole where the same names come again and again', async () => {
    const repository = await testRepository();
    const from = await repository.commit({ 'ds/apps/a.yaml': APP });
    let to = from;
    for (let round = 0; round < 144; round++) to = publishMany(repository, 3, `${APP}# ${round % 2}\n`);
    const { reader } = await openSource(join(repository.folder, 'ds'));
    const { isComplete, paths } = await reader.history();
    expect([isComplete, paths.size]).toEqual([true, 1332]);
    expect((await reader.touchedPaths(from, to))?.size).toBe(1332);
  });

  it('with more names than memory should hold is not whole, and what was touched cannot be told, also after the next commit', async () => {
    const repository = await testRepository();
    const from = await repository.commit({ 'ds/apps/a.yaml': APP });
    publishMany(repository, 5);
    const to = publishMany(repository, 1);
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect((await reader.history()).isComplete).toBe(false);
    expect(await reader.touchedPaths(from, to)).toBeNull();
  });
});

describe('a clone that is made shallow, or whole, while the manager runs', () => {
  it('is known as what it is now', async () => {
    const origin = await testRepository();
    await origin.commit({ 'ds/apps/old.yaml': APP, 'ds/apps/a.yaml': APP });
    const from = await origin.git('rev-parse', 'HEAD');
    const to = await origin.commit({ 'ds/apps/old.yaml': null });
    const clone = repositoryAt(join(await temporaryFolder(), 'clone'));
    await origin.git('clone', '--quiet', `file://${origin.folder}`, clone.folder);
    const { reader } = await openSource(join(clone.folder, 'ds'));
    expect(await reader.touchedPaths(from, to)).toEqual(new Set(['apps/old.yaml']));
    await clone.git('fetch', '--quiet', '--depth=1');
    expect((await reader.history()).isComplete).toBe(false);
    expect([await reader.touchedPaths(from, to), await reader.commitsBetween(from, to)]).toEqual([
      null,
      null,
    ]);
    await clone.git('fetch', '--quiet', '--unshallow');
    expect((await reader.history()).isComplete).toBe(true);
  });
});

describe('a ref that names an object which is not there', () => {
  it('makes the history incomplete, and no failure', async () => {
    const repository = await newRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a' });
    await mkdir(join(repository.folder, '.git/refs/remotes/origin'), { recursive: true });
    await writeFile(join(repository.folder, '.git/refs/remotes/origin/gone'), `${'1'.repeat(40)}\n`);
    const source = await openSource(join(repository.folder, 'ds'));
    expect((await source.reader.history()).isComplete).toBe(false);
  });
});

describe('a repository that git cannot work in', () => {
  it.each([
    { name: 'its settings', setting: '[broken\n', means: 'git cannot parse its configuration' },
    { name: 'how it is made', setting: NEWER, means: 'the repository needs a newer git' },
  ])('says why: $name', async ({ setting, means }) => {
    const { repository, revisions } = await branchyRepository();
    const { reader } = await openSource(repository.folder);
    await appendFile(join(repository.folder, '.git/config'), setting);
    await expect(reader.isAncestor(revisions.a, revisions.c)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining(means),
    });
  });

  it('as a partial clone lacks what it cannot have now: says that', async () => {
    const { repository, revisions } = await branchyRepository();
    await repository.git('config', 'uploadpack.allowFilter', 'true');
    const folder = await temporaryFolder();
    await repository.git(
      'clone',
      '--quiet',
      '--bare',
      '--filter=blob:none',
      `file://${repository.folder}`,
      `${folder}/.git`,
    );
    const clone = repositoryAt(folder);
    await clone.git('config', 'core.bare', 'false');
    const { reader } = await openSource(folder);
    await rm(repository.folder, { recursive: true });
    const [entry] = await reader.list((await reader.folderTree(revisions.a)) as string);
    await expect(reader.blob(entry?.blob ?? '', 100)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('this is a partial clone'),
    });
  });
});
