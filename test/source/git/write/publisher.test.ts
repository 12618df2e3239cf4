import { chmod, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openCheckout } from '../../../../src/source/git/checkout.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../../../support/git.ts';
import { draftOf, MACHINE, newRepository, openSource, publishOne } from '../support.ts';

async function start(files: Record<string, string> = { 'ds/apps/web.yaml': 'a\n', 'else.txt': 'e\n' }) {
  const repository = await testRepository();
  const base = await repository.commit(files);
  return { repository, base, source: await openSource(join(repository.folder, 'ds')) };
}

/** What the checkout has, and what git says of it. */
const status = ({ git }: TestRepository): Promise<string> =>
  git('status', '--porcelain', '--untracked-files=all');
const onDisk = ({ folder }: TestRepository, path: string): Promise<string> =>
  readFile(join(folder, path), 'utf8');

describe('publish', () => {
  it('moves the branch, and the checkout follows', async () => {
    const { repository, base, source } = await start();
    const id = await publishOne(source, { 'apps/web.yaml': 'b\n', 'apps/deep/new.yaml': 'n\n' });
    expect(await repository.git('rev-parse', 'HEAD', 'HEAD^')).toBe(`${id}\n${base}`);
    expect(await onDisk(repository, 'ds/apps/web.yaml')).toBe('b\n');
    expect(await onDisk(repository, 'ds/apps/deep/new.yaml')).toBe('n\n');
    expect(await status(repository)).toBe('');
    expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: id });
  });

  it('takes deleted files off the disk, and folders that they leave empty', async () => {
    const { repository, source } = await start({ 'ds/apps/team/a.yaml': 'a', 'ds/apps/b.yaml': 'b' });
    await publishOne(source, { 'apps/team/a.yaml': null });
    expect(await readdir(join(repository.folder, 'ds/apps'))).toEqual(['b.yaml']);
    expect(await status(repository)).toBe('');
  });

  it('keeps a folder that has more in it than what is deleted', async () => {
    const { repository, source } = await start({ 'ds/apps/team/a.yaml': 'a', 'ds/b': '' });
    await writeFiles(repository.folder, { 'ds/apps/team/notes.txt': 'mine' });
    await publishOne(source, { 'apps/team/a.yaml': null });
    expect(await onDisk(repository, 'ds/apps/team/notes.txt')).toBe('mine');
  });

  it('makes many commits at once, one each, and the checkout has the last', async () => {
    const { repository, base, source } = await start();
    const drafts = Array.from({ length: 64 }, (_, index) =>
      draftOf({ 'apps/web.yaml': `${index}`, [`apps/${index}`]: '' }),
    );
    const ids = await source.publisher.publish(await source.reader.head(), drafts);
    expect((await repository.git('rev-list', '--reverse', `${base}..HEAD`)).split('\n')).toEqual(ids);
    expect(await onDisk(repository, 'ds/apps/web.yaml')).toBe('63');
    expect(await status(repository)).toBe('');
  });

  it('keeps the executable bit on the disk', async () => {
    const { repository, source } = await start();
    await chmod(join(repository.folder, 'ds/apps/web.yaml'), 0o755);
    await repository.commit({});
    await publishOne(source, { 'apps/web.yaml': 'b' });
    expect((await stat(join(repository.folder, 'ds/apps/web.yaml'))).mode & 0o111).not.toBe(0);
    expect(await status(repository)).toBe('');
  });

  // The commands that do answer have the same two seconds.
  it('believes the branch where git moved it and then said nothing', async () => {
    const { repository } = await start();
    const silent = join(await temporaryFolder(), 'bin');
    const real = `PATH="${MACHINE.env['PATH']}"`;
    const script = `#!/bin/sh\n[ "$1" = update-ref ] || ${real} exec git "$@"\n${real} git "$@" >/dev/null\n`;
    await writeFiles(silent, { git: script });
    await chmod(join(silent, 'git'), 0o755);
    const env = { PATH: `${silent}:${MACHINE.env['PATH']}` };
    const source = await openCheckout(join(repository.folder, 'ds'), null, { env, timeLimit: 2000 });
    onTestFinished(() => source.close());
    const id = await publishOne(source, { 'apps/web.yaml': 'b\n' });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect([await onDisk(repository, 'ds/apps/web.yaml'), await status(repository)]).toEqual(['b\n', '']);
    expect(await source.recover()).toBe(null);
  });

  it('says in the reflog who moved the branch', async () => {
    const { repository, source } = await start();
    await publishOne(source, { a: '' });
    expect(await repository.git('reflog', '-1', '--format=%gs %gn')).toBe('holdfast Holdfast');
  });

  it('works for a folder at the top, a nested one, and one that is not there yet', async () => {
    const { repository } = await start();
    for (const below of ['', 'a b/c', 'none/yet']) {
      const source = await openSource(join(repository.folder, below));
      await publishOne(source, { 'apps/x.yaml': below });
      expect(await onDisk(repository, join(below, 'apps/x.yaml'))).toBe(below);
    }
    expect(await status(repository)).toBe('');
  });

  it('works where refs are packed, and on a branch with folders in its name', async () => {
    const { repository, source } = await start();
    await repository.git('switch', '--quiet', '-c', 'team/a/b');
    await repository.git('pack-refs', '--all', '--prune');
    const first = await publishOne(source, { a: '1' });
    await repository.git('pack-refs', '--all', '--prune');
    const second = await publishOne(source, { a: '2' });
    expect(await repository.git('rev-parse', 'team/a/b', 'team/a/b^')).toBe(`${second}\n${first}`);
  });

  it('works where the checkout leaves out the folder', async () => {
    const { repository, source } = await start();
    await repository.git('sparse-checkout', 'set', 'elsewhere');
    const id = await publishOne(source, { 'apps/web.yaml': 'b\n', 'apps/new.yaml': 'n\n' });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect(await status(repository)).toBe('');
  });
});

describe('a branch without a commit', () => {
  it('gets its first one', async () => {
    const repository = await newRepository();
    await mkdir(join(repository.folder, 'ds'));
    const source = await openSource(join(repository.folder, 'ds'));
    const id = await publishOne(source, { 'apps/web.yaml': 'a' });
    expect(await repository.git('rev-list', '--parents', 'HEAD')).toBe(id);
    expect(await onDisk(repository, 'ds/apps/web.yaml')).toBe('a');
    expect(await status(repository)).toBe('');
  });

  it('keeps what is staged and what is not', async () => {
    const repository = await newRepository();
    await writeFiles(repository.folder, { 'ds/staged': 's', 'ds/untracked': 'u' });
    await repository.git('add', 'ds/staged');
    const source = await openSource(join(repository.folder, 'ds'));
    await publishOne(source, { 'apps/web.yaml': 'a' });
    expect(await status(repository)).toBe('A  ds/staged\n?? ds/untracked');
  });

  it('that somebody else gave one meanwhile has moved on', async () => {
    const repository = await newRepository();
    const source = await openSource(repository.folder);
    const base = await source.reader.head();
    const person = await repository.commit({ a: 'person' });
    await expect(publishOne(source, { b: 'x' }, base)).rejects.toMatchObject({ kind: 'moved-on' });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(person);
    expect(await status(repository)).toBe('');
  });
});

describe('a branch that is not checked out', () => {
  it('moves, and the checkout stays as it is', async () => {
    const { repository, base } = await start();
    await repository.git('switch', '--quiet', '-c', 'mine');
    await writeFiles(repository.folder, { 'ds/apps/web.yaml': 'dirty' });
    const source = await openSource(join(repository.folder, 'ds'), 'main');
    const id = await publishOne(source, { 'apps/web.yaml': 'b' });
    expect(await repository.git('rev-parse', 'main', 'main^', 'mine')).toBe(`${id}\n${base}\n${base}`);
    expect(await onDisk(repository, 'ds/apps/web.yaml')).toBe('dirty');
    expect(await status(repository)).toBe(' M ds/apps/web.yaml');
  });

  it('and has no commit gets its first one, in a repository that has no other branch', async () => {
    const repository = await newRepository();
    await mkdir(join(repository.folder, 'ds'));
    const source = await openSource(join(repository.folder, 'ds'), 'new/branch');
    const id = await publishOne(source, { 'apps/web.yaml': 'b' });
    expect(await repository.git('rev-list', '--parents', 'new/branch')).toBe(id);
    expect(await repository.git('symbolic-ref', 'HEAD')).toBe('refs/heads/main');
    expect(await status(repository)).toBe('');
  });

  it('here, but in another work tree, is refused: that checkout would silently fall behind', async () => {
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

describe('an index that is damaged', () => {
  it.each([
    ['too short', 'junk'],
    ['empty', ''],
    ['no index', 'junk'.repeat(100)],
    ['all zeros', '\0'.repeat(400)],
  ])('(%s) is named, with what to do about it', async (_, text) => {
    const { repository, base, source } = await start();
    await writeFile(join(repository.folder, '.git/index'), text);
    await expect(publishOne(source, { 'apps/web.yaml': 'b' })).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the index of the checkout is damaged; remove the file .git/index, and run "git reset" there',
    });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    await rm(join(repository.folder, '.git/index'));
    // A write before the reset finds no index; what was damaged must not come back.
    await expect(publishOne(source, { 'apps/web.yaml': 'b' })).rejects.toMatchObject({ kind: 'conflict' });
    await repository.git('reset', '--quiet');
    await publishOne(source, { 'apps/web.yaml': 'b' });
    expect(await status(repository)).toBe('');
  });
});

describe('a linked work tree', () => {
  it('has its own index and files follow its own branch', async () => {
    const { repository, base } = await start();
    const linked = repositoryAt(join(await temporaryFolder(), 'linked'));
    await repository.git('worktree', 'add', '--quiet', '-b', 'side', linked.folder);
    const source = await openSource(join(linked.folder, 'ds'));
    const id = await publishOne(source, { 'apps/web.yaml': 'b' });
    expect(await linked.git('rev-parse', 'HEAD', 'main')).toBe(`${id}\n${base}`);
    expect(await onDisk(linked, 'ds/apps/web.yaml')).toBe('b');
    expect(await status(linked)).toBe('');
    expect(await onDisk(repository, 'ds/apps/web.yaml')).toBe('a\n');
    expect(await status(repository)).toBe('');
  });
});

describe('a detached HEAD', () => {
  it('is refused, by its name', async () => {
    const { repository, base, source } = await start();
    await repository.git('checkout', '--quiet', '--detach');
    await expect(publishOne(source, { a: '' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('HEAD is detached'),
    });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
  });
});

describe('a file that is only touched', () => {
  it('does not stand in the way', async () => {
    const { repository, source } = await start();
    await utimes(join(repository.folder, 'ds/apps/web.yaml'), 1, 1);
    await writeFile(join(repository.folder, 'else.txt'), 'edited');
    await publishOne(source, { 'apps/web.yaml': 'b\n' });
    expect(await onDisk(repository, 'ds/apps/web.yaml')).toBe('b\n');
    expect(await status(repository)).toBe(' M else.txt');
  });

  it('or written anew with the same bytes does not stand in the way of its deletion', async () => {
    const { repository, source } = await start();
    await rm(join(repository.folder, 'ds/apps/web.yaml'));
    await writeFiles(repository.folder, { 'ds/apps/web.yaml': 'a\n' });
    await publishOne(source, { 'apps/web.yaml': null });
    expect(await status(repository)).toBe('');
  });
});

describe('a symlink in the checkout', () => {
  it('in the place of the folder is not written through', async () => {
    const { repository, source } = await start();
    const outside = await temporaryFolder();
    await writeFiles(outside, { 'web.yaml': 'outside' });
    await rm(join(repository.folder, 'ds/apps'), { recursive: true });
    await symlink(outside, join(repository.folder, 'ds/apps'));
    await publishOne(source, { 'apps/web.yaml': 'b\n', 'apps/new.yaml': 'n' }).catch(() => undefined);
    expect(await readdir(outside)).toEqual(['web.yaml']);
    expect(await readFile(join(outside, 'web.yaml'), 'utf8')).toBe('outside');
  });
});
