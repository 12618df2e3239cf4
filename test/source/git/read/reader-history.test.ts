import { appendFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../../../support/git.ts';
import { plumbingOf } from '../../../support/plumbing.ts';
import { draftOf, newRepository, openSource, publishOne } from '../support.ts';

const APP = 'container_image: a\n';
/** Settings of a repository that only a newer git can use. */
const NEEDS_NEWER_GIT = '[core]\nrepositoryformatversion = 1\n[extensions]\nfromTheFuture = true\n';

/** Drops all objects that no ref reaches. */
async function prune({ git }: TestRepository): Promise<void> {
  await git('reflog', 'expire', '--expire=now', '--all');
  await git('gc', '--quiet', '--prune=now');
}

/**
 *   a - b - c - m    main
 *        \     /
 *         s --     side
 *   x            root, without a common ancestor
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
    { ancestor: 'a', revision: 'b', is: true, why: 'the parent' },
    { ancestor: 'a', revision: 'm', is: true, why: 'an older ancestor' },
    { ancestor: 's', revision: 'm', is: true, why: 'the second parent of a merge' },
    { ancestor: 'c', revision: 'm', is: true, why: 'the first parent of a merge' },
    { ancestor: 'b', revision: 'b', is: true, why: 'the same commit' },
    { ancestor: 'b', revision: 'a', is: false, why: 'the child' },
    { ancestor: 'c', revision: 's', is: false, why: 'a commit of another branch' },
    { ancestor: 'x', revision: 'm', is: false, why: 'a commit of another root' },
  ] as const;

  it('is true for the commit itself and its ancestors, and false for all others', async () => {
    const { repository, revisions } = await branchyRepository();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    const answers = await Promise.all(
      rows.map(({ ancestor, revision }) => reader.isAncestor(revisions[ancestor], revisions[revision])),
    );
    expect(rows.map((row, index) => ({ ...row, is: answers[index] }))).toEqual(rows);
  });

  it('is false for a commit that was reset away, was pruned, or never existed', async () => {
    const repository = await testRepository();
    const first = await repository.commit({ a: '1' });
    const resetAway = await repository.commit({ a: '2' });
    await repository.git('reset', '--quiet', '--hard', first);
    const now = await repository.commit({ a: '3' });
    const { reader } = await openSource(repository.folder);
    expect(await reader.isAncestor(resetAway, now)).toBe(false);
    await prune(repository);
    expect(await reader.isAncestor(resetAway, now)).toBe(false);
    expect(await reader.isAncestor('1'.repeat(40), now)).toBe(false);
  });

  it('does not mistake a line of the message for a parent', async () => {
    const repository = await testRepository();
    const other = await repository.commit({ a: '1' });
    await repository.git('switch', '--quiet', '--orphan', 'root');
    const now = await repository.commit({ b: '1' }, `x\n\nparent ${other}\n\nparent ${other}`);
    const { reader } = await openSource(repository.folder);
    expect(await reader.isAncestor(other, now)).toBe(false);
  });

  it('rejects as unavailable if the descendant is missing', async () => {
    const repository = await testRepository();
    const revision = await repository.commit({ a: '1' });
    const { reader } = await openSource(repository.folder);
    await expect(reader.isAncestor(revision, '1'.repeat(40))).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('history', () => {
  const pathsOf = async (repository: TestRepository, below = 'ds'): Promise<string[]> => {
    const { reader } = await openSource(join(repository.folder, below));
    return [...(await reader.history()).paths].sort();
  };

  it('is empty, but complete, in a repository without a commit', async () => {
    const { reader } = await openSource((await testRepository()).folder);
    expect(await reader.history()).toEqual({ paths: new Set(), newestCommit: 0, isComplete: true });
  });

  it('has the paths of all branches, roots and merges', async () => {
    const { repository } = await branchyRepository();
    expect(await pathsOf(repository)).toEqual(['a', 'b', 's', 'x'].map((name) => `apps/${name}.yaml`));
  });

  it('has paths that were deleted, renamed, or existed in only one commit', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/deleted.yaml': APP, 'ds/apps/old.yaml': APP, 'else.yaml': APP });
    await repository.git('mv', 'ds/apps/old.yaml', 'ds/apps/new.yaml');
    await repository.commit({ 'ds/apps/deleted.yaml': null, 'ds/apps/short.yaml': APP });
    await repository.commit({ 'ds/apps/short.yaml': null });
    expect(await pathsOf(repository)).toEqual(
      ['deleted', 'new', 'old', 'short'].map((name) => `apps/${name}.yaml`),
    );
  });

  it('has paths from before a graft, which hides older commits from users', async () => {
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
    // git's hint that grafts are deprecated must not hide the error.
    const failure = await reader.touchedPaths('f'.repeat(40), last).catch((error: Error) => error.cause);
    expect(String(failure)).toMatch(/^GitFailure: git log failed: fatal: bad object/);
  });

  it('has a path that only a merge commit added', async () => {
    const { repository } = await branchyRepository();
    await repository.git('switch', '--quiet', '-c', 'evil', 'side');
    await repository.commit({ 'else2.txt': '1' });
    await repository.git('merge', '--quiet', '--no-commit', '--no-ff', 'main');
    await repository.commit({ 'ds/apps/evil.yaml': APP }, 'merge');
    await repository.git('switch', '--quiet', 'main');
    expect(await pathsOf(repository)).toContain('apps/evil.yaml');
  });

  it('has paths of a side branch whose merge took nothing from it', async () => {
    const { repository, revisions } = await branchyRepository();
    await repository.git('switch', '--quiet', '-c', 'ours');
    await repository.commit({ 'ds/apps/dropped.yaml': APP });
    await repository.git('switch', '--quiet', 'main');
    await repository.git('merge', '--quiet', '-s', 'ours', '-m', 'take nothing', 'ours');
    await repository.git('branch', '--quiet', '-D', 'ours');
    await repository.git('reflog', 'expire', '--expire=now', '--all');
    expect(await pathsOf(repository)).toContain('apps/dropped.yaml');
    const { reader } = await openSource(join(repository.folder, 'ds'));
    const touched = await reader.touchedPaths(revisions.m, await repository.git('rev-parse', 'HEAD'));
    expect(touched).toEqual(new Set(['apps/dropped.yaml']));
  });

  it('has paths of commits that were reset away or amended, until git prunes them', async () => {
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

  it('has paths that only a tag or another work tree reaches', async () => {
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

  it('has paths with odd names, and none from outside the folder', async () => {
    const repository = await testRepository();
    const odd = ['apps/größe.yaml', 'apps/with space', 'apps/"q"', '-dash', 'a\nb'];
    await repository.commit(
      Object.fromEntries([...odd.map((path) => [`ds/${path}`, '']), ['dsx/beside', '']]),
    );
    expect(await pathsOf(repository)).toEqual([...odd].sort());
    expect(await pathsOf(repository, '')).toContain('dsx/beside');
  });

  it('has paths that the manager itself committed', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/a.yaml': APP });
    const source = await openSource(join(repository.folder, 'ds'));
    await publishOne(source, { 'apps/api.yaml': APP });
    expect([...(await source.reader.history()).paths].sort()).toEqual(['apps/a.yaml', 'apps/api.yaml']);
  });

  it('has the time of the newest commit, even after it was reset away', async () => {
    const repository = await testRepository();
    await repository.commit({ a: '' });
    const source = await openSource(repository.folder);
    const future = 4_000_000_000;
    await source.publisher.publish(await source.reader.head(), [draftOf({ b: '' }, { at: future * 1000 })]);
    await repository.git('reset', '--quiet', '--hard', 'HEAD~1');
    // Until then, a ref of the manager names the commit.
    await publishOne(source, { c: '' });
    expect((await source.reader.history()).newestCommit).toBe(future);
  });

  it.each([
    ['complete in a full clone', [], true],
    ['incomplete in a shallow clone', ['--depth=1'], false],
  ])('is %s', async (_, options, isComplete) => {
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

describe('a history that git lists at great length', () => {
  const FOLDERS = Array.from({ length: 11 }, (_, index) => `${index % 10}`.repeat(240 + index));

  /** A commit of one folder `ds` in which one file stands under `11 ** levels` names. */
  function publishMany(repository: TestRepository, levels: number, text = APP): string {
    const plumbing = plumbingOf(repository);
    let [mode, id] = ['100644', plumbing.blob(text)];
    for (let level = 0; level < levels; level++)
      [mode, id] = ['40000', plumbing.tree(FOLDERS.map((name) => ({ mode, name, id })))];
    return plumbing.publish(plumbing.tree([{ mode: '40000', name: 'ds', id }]));
  }

  it('is complete if the same paths are listed again and again', async () => {
    const repository = await testRepository();
    const from = await repository.commit({ 'ds/apps/a.yaml': APP });
    let to = from;
    for (let round = 0; round < 144; round++) to = publishMany(repository, 3, `${APP}# ${round % 2}\n`);
    const { reader } = await openSource(join(repository.folder, 'ds'));
    const { isComplete, paths } = await reader.history();
    expect([isComplete, paths.size]).toEqual([true, 1332]);
    expect((await reader.touchedPaths(from, to))?.size).toBe(1332);
  });

  it('is incomplete with more paths than fit into memory, and touchedPaths is then null, even after later commits', async () => {
    const repository = await testRepository();
    const from = await repository.commit({ 'ds/apps/a.yaml': APP });
    publishMany(repository, 5);
    const to = publishMany(repository, 1);
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect((await reader.history()).isComplete).toBe(false);
    expect(await reader.touchedPaths(from, to)).toBeNull();
  });
});

describe('a clone', () => {
  it('counts as shallow only while it is, even if a fetch changes that while the manager runs', async () => {
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
    expect(await reader.touchedPaths(from, to)).toBeNull();
    await clone.git('fetch', '--quiet', '--unshallow');
    expect((await reader.history()).isComplete).toBe(true);
  });
});

describe('a ref that names a missing object', () => {
  it('makes the history incomplete, but does not make it fail', async () => {
    const repository = await newRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a' });
    await mkdir(join(repository.folder, '.git/refs/remotes/origin'), { recursive: true });
    await writeFile(join(repository.folder, '.git/refs/remotes/origin/gone'), `${'1'.repeat(40)}\n`);
    const source = await openSource(join(repository.folder, 'ds'));
    expect((await source.reader.history()).isComplete).toBe(false);
  });
});

it.each(['record/0123456789ab', 'origin-record/0123456789ab', 'recording'])(
  'a missing object at refs/holdfast/%s, of the record of ids, leaves the history complete',
  async (name) => {
    const repository = await newRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a' });
    const newestCommit = Number(await repository.git('log', '-1', '--format=%ct'));
    await writeFiles(repository.folder, { [`.git/refs/holdfast/${name}`]: `${'1'.repeat(40)}\n` });
    const { reader } = await openSource(join(repository.folder, 'ds'));
    const paths = new Set(['apps/web.yaml']);
    expect(await reader.history()).toEqual({ paths, newestCommit, isComplete: true });
  },
);

describe('a repository that git cannot read', () => {
  it.each([
    ['bad config line', '[broken\n'],
    ['unknown repository', NEEDS_NEWER_GIT],
  ])('rejects reads with the reason: %s', async (reason, setting) => {
    const { repository, revisions } = await branchyRepository();
    const { reader } = await openSource(repository.folder);
    await appendFile(join(repository.folder, '.git/config'), setting);
    await expect(reader.isAncestor(revisions.a, revisions.c)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining(reason),
    });
  });

  it('rejects reads of missing objects with what git says of the partial clone', async () => {
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
      message: expect.stringContaining("transport 'file' not allowed"),
    });
  });
});
