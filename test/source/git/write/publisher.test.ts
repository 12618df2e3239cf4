import { chmod, mkdir, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { repositoryAt, testRepository } from '../../../support/git.ts';
import {
  draftOf,
  faultsAt,
  machineWith,
  newRepository,
  openSource,
  publishOne,
  read,
  status,
} from '../support.ts';

async function start(files: Record<string, string> = { 'ds/apps/web.yaml': 'a\n', 'else.txt': 'e\n' }) {
  const repository = await testRepository();
  const base = await repository.commit(files);
  return { repository, base, source: await openSource(join(repository.folder, 'ds')) };
}

describe('publish', () => {
  it('moves the branch, the index and the work tree to the commit', async () => {
    const { repository, base, source } = await start();
    const id = await publishOne(source, { 'apps/web.yaml': 'b\n', 'apps/deep/new.yaml': 'n\n' });
    expect(await repository.git('rev-parse', 'HEAD', 'HEAD^')).toBe(`${id}\n${base}`);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('b\n');
    expect(await read(repository, 'ds/apps/deep/new.yaml')).toBe('n\n');
    expect(await status(repository)).toBe('');
    expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: id });
  });

  it('removes deleted files from the disk, and folders that become empty', async () => {
    const { repository, source } = await start({ 'ds/apps/team/a.yaml': 'a', 'ds/apps/b.yaml': 'b' });
    await publishOne(source, { 'apps/team/a.yaml': null });
    expect(await readdir(join(repository.folder, 'ds/apps'))).toEqual(['b.yaml']);
    expect(await status(repository)).toBe('');
  });

  it('keeps a folder in which an untracked file remains', async () => {
    const { repository, source } = await start({ 'ds/apps/team/a.yaml': 'a', 'ds/b': '' });
    await writeFiles(repository.folder, { 'ds/apps/team/notes.txt': 'mine' });
    await publishOne(source, { 'apps/team/a.yaml': null });
    expect(await read(repository, 'ds/apps/team/notes.txt')).toBe('mine');
  });

  it('makes one commit for each draft, and the work tree has the last one', async () => {
    const { repository, base, source } = await start();
    const drafts = Array.from({ length: 64 }, (_, index) =>
      draftOf({ 'apps/web.yaml': `${index}`, [`apps/${index}`]: '' }),
    );
    const ids = await source.publisher.publish(await source.reader.head(), drafts);
    expect((await repository.git('rev-list', '--reverse', `${base}..HEAD`)).split('\n')).toEqual(ids);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('63');
    expect(await status(repository)).toBe('');
  });

  it('keeps the executable bit of a file on the disk', async () => {
    const { repository, source } = await start();
    await chmod(join(repository.folder, 'ds/apps/web.yaml'), 0o755);
    await repository.commit({});
    await publishOne(source, { 'apps/web.yaml': 'b' });
    expect((await stat(join(repository.folder, 'ds/apps/web.yaml'))).mode & 0o111).not.toBe(0);
    expect(await status(repository)).toBe('');
  });

  it('succeeds if git moved the branch and then did not answer within the time limit', async () => {
    const { repository } = await start();
    // The other commands have the same two seconds.
    const machine = await machineWith('[ "$1" != push ] || { git "$@" > /dev/null 2>&1; sleep 60; }', 2000);
    const source = await openSource(join(repository.folder, 'ds'), null, { machine });
    const id = await publishOne(source, { 'apps/web.yaml': 'b\n' });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect([await read(repository, 'ds/apps/web.yaml'), await status(repository)]).toEqual(['b\n', '']);
  });

  it('names the manager in the reflog', async () => {
    const { repository, source } = await start();
    await publishOne(source, { a: '' });
    expect(await repository.git('reflog', '-1', '--format=%gs %gn')).toBe('push Holdfast');
  });

  it('works for the top folder, a nested one, and one that does not exist yet', async () => {
    const { repository } = await start();
    for (const below of ['', 'a b/c', 'none/yet']) {
      const source = await openSource(join(repository.folder, below));
      await publishOne(source, { 'apps/x.yaml': below });
      expect(await read(repository, join(below, 'apps/x.yaml'))).toBe(below);
    }
    expect(await status(repository)).toBe('');
  });

  it('works with packed refs, and on a branch with slashes in its name', async () => {
    const { repository, source } = await start();
    await repository.git('switch', '--quiet', '-c', 'team/a/b');
    await repository.git('pack-refs', '--all', '--prune');
    const first = await publishOne(source, { a: '1' });
    await repository.git('pack-refs', '--all', '--prune');
    const second = await publishOne(source, { a: '2' });
    expect(await repository.git('rev-parse', 'team/a/b', 'team/a/b^')).toBe(`${second}\n${first}`);
  });

  it('works in a sparse checkout without the folder', async () => {
    const { repository, source } = await start();
    await repository.git('sparse-checkout', 'set', 'elsewhere');
    const id = await publishOne(source, { 'apps/web.yaml': 'b\n', 'apps/new.yaml': 'n\n' });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect(await status(repository)).toBe('');
  });
});

describe('a write that fails after the branch has moved', () => {
  it('rejects with the published commit and the cause, and the next write follows it', async () => {
    const repository = await testRepository();
    const base = await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    let isFailing = true;
    const faults = faultsAt('branch-synced', () => {
      if (isFailing) throw new Error('the disk is gone');
    });
    const source = await openSource(join(repository.folder, 'ds'), null, { faults });
    const failure = await publishOne(source, { 'apps/web.yaml': 'b\n' }).catch((error: unknown) => error);
    const published = await repository.git('rev-parse', 'HEAD');
    expect(published).not.toBe(base);
    expect(failure).toMatchObject({ kind: 'unavailable', details: { commits: [published] } });
    isFailing = false;
    const next = await publishOne(source, { 'apps/web.yaml': 'c\n' });
    expect(await repository.git('rev-parse', 'HEAD', 'HEAD^')).toBe(`${next}\n${published}`);
    expect(await status(repository)).toBe('');
  });

  it.each([
    [
      'a file system that became read-only',
      'EROFS: read-only file system, open',
      ': the user of the manager has no right to do that; check owner and permissions, and how the disk is mounted',
    ],
    ['a cause without advice', 'EISDIR: illegal operation on a directory, open', ''],
  ])('says why: %s', async (_, cause, why) => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    const faults = faultsAt('branch-synced', () => {
      throw new Error(cause);
    });
    const source = await openSource(join(repository.folder, 'ds'), null, { faults });
    await expect(publishOne(source, { 'apps/web.yaml': 'b\n' })).rejects.toMatchObject({
      message: `the commit is published, but the clone could not be updated${why}`,
    });
  });
});

describe('a write to a branch without commits', () => {
  it('makes its first commit', async () => {
    const repository = await newRepository();
    await mkdir(join(repository.folder, 'ds'));
    const source = await openSource(join(repository.folder, 'ds'));
    const id = await publishOne(source, { 'apps/web.yaml': 'a' });
    expect(await repository.git('rev-list', '--parents', 'HEAD')).toBe(id);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a');
    expect(await status(repository)).toBe('');
  });

  it('keeps staged and untracked files of the user', async () => {
    const repository = await newRepository();
    await writeFiles(repository.folder, { 'ds/staged': 's', 'ds/untracked': 'u' });
    await repository.git('add', 'ds/staged');
    const source = await openSource(join(repository.folder, 'ds'));
    await publishOne(source, { 'apps/web.yaml': 'a' });
    expect(await status(repository)).toBe('A  ds/staged\n?? ds/untracked');
  });

  it('is rejected as moved-on if a user has made the first commit meanwhile', async () => {
    const repository = await newRepository();
    const source = await openSource(repository.folder);
    const base = await source.reader.head();
    const mine = await repository.commit({ a: 'mine' });
    await expect(publishOne(source, { b: 'x' }, base)).rejects.toMatchObject({ kind: 'moved-on' });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(mine);
    expect(await status(repository)).toBe('');
  });
});

describe('a write to a file that a user has committed meanwhile', () => {
  it('is rejected as moved-on, although the file in the checkout is not that of its base', async () => {
    const { repository, source } = await start();
    const base = await source.reader.head();
    const mine = await repository.commit({ 'ds/apps/web.yaml': 'mine\n' });
    await expect(publishOne(source, { 'apps/web.yaml': 'b\n' }, base)).rejects.toMatchObject({
      kind: 'moved-on',
    });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(mine);
    expect([await read(repository, 'ds/apps/web.yaml'), await status(repository)]).toEqual(['mine\n', '']);
  });
});

describe('a write to a branch that is not checked out', () => {
  it('moves the branch, and leaves index and work tree as they are', async () => {
    const { repository, base } = await start();
    await repository.git('switch', '--quiet', '-c', 'mine');
    await writeFiles(repository.folder, { 'ds/apps/web.yaml': 'dirty' });
    const source = await openSource(join(repository.folder, 'ds'), 'main');
    const id = await publishOne(source, { 'apps/web.yaml': 'b' });
    expect(await repository.git('rev-parse', 'main', 'main^', 'mine')).toBe(`${id}\n${base}\n${base}`);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('dirty');
    expect(await status(repository)).toBe(' M ds/apps/web.yaml');
  });

  it('makes the first commit of a repository without branches', async () => {
    const repository = await newRepository();
    await mkdir(join(repository.folder, 'ds'));
    const source = await openSource(join(repository.folder, 'ds'), 'new/branch');
    const id = await publishOne(source, { 'apps/web.yaml': 'b' });
    expect(await repository.git('rev-list', '--parents', 'new/branch')).toBe(id);
    expect(await repository.git('symbolic-ref', 'HEAD')).toBe('refs/heads/main');
    expect(await status(repository)).toBe('');
  });

  it('is refused while another work tree has it checked out, which would silently fall behind', async () => {
    const { repository, base } = await start();
    const linked = repositoryAt(join(await temporaryFolder(), 'linked'));
    await repository.git('worktree', 'add', '--quiet', '-b', 'side', linked.folder);
    const source = await openSource(join(repository.folder, 'ds'), 'side');
    await expect(publishOne(source, { 'apps/web.yaml': 'b' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/side is checked out in another work tree/),
    });
    expect(await repository.git('rev-parse', 'side')).toBe(base);
    expect(await status(linked)).toBe('');
    await rm(linked.folder, { recursive: true });
    await repository.git('worktree', 'prune');
    await publishOne(source, { 'apps/web.yaml': 'b' });
  });
});

describe('a damaged index', () => {
  it.each([
    ['too short', 'junk'],
    ['empty', ''],
    ['without the header of an index', 'junk'.repeat(100)],
    ['all zeros', '\0'.repeat(400)],
  ])('(%s) is what a write that fails is told about, and not replaced', async (_name, text) => {
    const { repository, base, source } = await start();
    await writeFile(join(repository.folder, '.git/index'), text);
    await expect(publishOne(source, { 'apps/web.yaml': 'b' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/^git could not publish the commit: .*(index file|signature)/),
    });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    await rm(join(repository.folder, '.git/index'));
    // A write before the reset finds no index; the damaged one must not come back.
    await expect(publishOne(source, { 'apps/web.yaml': 'b' })).rejects.toMatchObject({ kind: 'conflict' });
    await repository.git('reset', '--quiet');
    await publishOne(source, { 'apps/web.yaml': 'b' });
    expect(await status(repository)).toBe('');
  });
});

describe('a write to a linked work tree', () => {
  it('changes its branch, index and files, and not those of the main one', async () => {
    const { repository, base } = await start();
    const linked = repositoryAt(join(await temporaryFolder(), 'linked'));
    await repository.git('worktree', 'add', '--quiet', '-b', 'side', linked.folder);
    const source = await openSource(join(linked.folder, 'ds'));
    const id = await publishOne(source, { 'apps/web.yaml': 'b' });
    expect(await linked.git('rev-parse', 'HEAD', 'main')).toBe(`${id}\n${base}`);
    expect(await read(linked, 'ds/apps/web.yaml')).toBe('b');
    expect(await status(linked)).toBe('');
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a\n');
    expect(await status(repository)).toBe('');
  });
});

describe('a write while HEAD is detached', () => {
  it('is a conflict that says so', async () => {
    const { repository, base, source } = await start();
    await repository.git('checkout', '--quiet', '--detach');
    await expect(publishOne(source, { a: '' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('HEAD is detached'),
    });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
  });
});

describe('a file whose times changed but not its content', () => {
  it('can be changed by a write', async () => {
    const { repository, source } = await start();
    await utimes(join(repository.folder, 'ds/apps/web.yaml'), 1, 1);
    await writeFile(join(repository.folder, 'else.txt'), 'edited');
    await publishOne(source, { 'apps/web.yaml': 'b\n' });
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('b\n');
    expect(await status(repository)).toBe(' M else.txt');
  });

  it('can be deleted by a write', async () => {
    const { repository, source } = await start();
    await rm(join(repository.folder, 'ds/apps/web.yaml'));
    await writeFiles(repository.folder, { 'ds/apps/web.yaml': 'a\n' });
    await publishOne(source, { 'apps/web.yaml': null });
    expect(await status(repository)).toBe('');
  });
});
