import { access, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { type CheckoutSource, openCheckout } from '../../../../src/source/git/checkout.ts';
import { moveRefs } from '../../../../src/source/git/record/refs.ts';
import { refTips } from '../../../../src/source/git/repository/refs.ts';
import { syncRef } from '../../../../src/source/git/repository/sync-ref.ts';
import { allFoldersOf } from '../../../../src/source/git/work-tree/locks.ts';
import type { Head } from '../../../../src/source/source.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository } from '../../../support/git.ts';
import { HAS_REFTABLE, REFTABLE } from '../../../support/reftable.ts';
import { draftOf, MACHINE, newRepository, openSource, publishOne } from '../support.ts';

const FILES = { 'ds/apps/web.yaml': 'a: web\n', 'else.txt': 'e\n' };
const EDITS = { 'apps/web.yaml': 'a: web\nb: 1\n' };

if (!HAS_REFTABLE) process.stdout.write('this git keeps no refs in tables (2.45 does): not tried\n');

/** git 2.36 to 2.44 cannot make such a repository, nor work in one. */
describe.skipIf(!HAS_REFTABLE)('a repository that keeps its refs in tables', () => {
  it.each(['sha1', 'sha256'])('takes writes on its branch, with %s', async (format) => {
    const { repository, source } = await opened(`--object-format=${format}`);
    const id = await publishOne(source, EDITS);
    expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: id });
    expect(await repository.git('rev-parse', 'main')).toBe(id);
    expect(await repository.git('status', '--porcelain')).toBe('');
  });

  it('takes the first commit of all', async () => {
    const repository = await newRepository(REFTABLE);
    const source = await openSource(repository.folder);
    expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: null });
    const id = await publishOne(source, { 'apps/web.yaml': 'a' });
    expect(await repository.git('rev-parse', 'main')).toBe(id);
  });

  it.each([
    { name: 'a commit', act: [['commit', '--allow-empty', '-m', 'x']] },
    { name: 'a branch that is checked out', act: [['checkout', '-q', '-b', 'other']] },
    { name: 'tables that were joined', act: [['pack-refs'], ['commit', '--allow-empty', '-m', 'x']] },
    {
      name: 'all refs having gone to files',
      act: [
        ['refs', 'migrate', '--ref-format=files'],
        ['commit', '--allow-empty', '-m', 'x'],
      ],
      since: [2, 48],
    },
  ])('is followed at once: $name', async ({ act, since }) => {
    const { repository, source } = await opened();
    if (since !== undefined && (await isOlder(repository, since))) return;
    const seen = await follow(source);
    for (const args of act) await repository.git(...args);
    const now = {
      branch: await repository.git('symbolic-ref', 'HEAD'),
      revision: await repository.git('rev-parse', 'HEAD'),
    };
    await vi.waitFor(() => expect(seen.at(-1)).toEqual(now), { timeout: 60_000 });
  });

  it('is followed where files became tables', async () => {
    const repository = await newRepository('--ref-format=files');
    if (await isOlder(repository, [2, 48])) return;
    await repository.commit(FILES);
    const source = await openSource(join(repository.folder, 'ds'));
    await publishOne(source, EDITS);
    const seen = await follow(source);
    await repository.git('refs', 'migrate', REFTABLE);
    await source.reader.head();
    const id = await repository.commit({ 'ds/apps/web.yaml': 'c\n' });
    await vi.waitFor(() => expect(seen.at(-1)?.revision).toBe(id), { timeout: 60_000 });
    expect(await repository.git('rev-parse', `${await publishOne(source, EDITS)}^`)).toBe(id);
  });

  it('is followed in a linked work tree, and written to', async () => {
    const { repository } = await opened();
    const linked = repositoryAt(join(await temporaryFolder(), 'linked'));
    await repository.git('worktree', 'add', '--quiet', '-b', 'side', linked.folder);
    const source = await openSource(join(linked.folder, 'ds'));
    const watched = vi.fn();
    const watcher = await source.watch(watched);
    onTestFinished(() => watcher.close());
    const id = await publishOne(source, EDITS);
    expect(await linked.git('rev-parse', 'side', 'HEAD')).toBe(`${id}\n${id}`);
    expect(await linked.git('status', '--porcelain')).toBe('');
    watched.mockClear();
    await linked.git('checkout', '--quiet', '--detach');
    await vi.waitFor(() => expect(watched).toHaveBeenCalled(), { timeout: 60_000 });
    expect(await source.reader.head()).toEqual({ branch: null, revision: id });
  });

  it('has the branch that GIT_BRANCH names by another name', async () => {
    const { repository } = await opened();
    await repository.git('symbolic-ref', 'refs/heads/master', 'refs/heads/main');
    const source = await openSource(join(repository.folder, 'ds'), 'master');
    expect((await source.reader.head()).branch).toBe('refs/heads/main');
    await publishOne(source, EDITS);
    expect(await repository.git('status', '--porcelain')).toBe('');
  });

  it('keeps the record of ids, and only where nobody else wrote it', async () => {
    const { repository, source } = await opened();
    const record = { files: new Map([['ids.json', '{}']]), expected: null, keepsOtherFiles: false, at: 0 };
    const version = await source.record.write(record);
    expect(await source.record.read()).toEqual({ version, files: record.files });
    await expect(source.record.write(record)).rejects.toMatchObject({ kind: 'moved-on' });
    await repository.git('update-ref', '-d', 'refs/holdfast/ids');
    await expect(source.record.write({ ...record, expected: version })).rejects.toMatchObject({
      kind: 'moved-on',
    });
  });

  it('says that a branch has moved, or went, while a commit was made', async () => {
    const { repository, source } = await opened();
    const base = await source.reader.head();
    await repository.commit({ 'else.txt': 'f\n' });
    const late = source.publisher.publish(base, [draftOf(EDITS)]);
    await expect(late).rejects.toMatchObject({ kind: 'moved-on' });
    await repository.git('update-ref', '-d', 'refs/heads/main');
    const gone = source.publisher.publish(base, [draftOf(EDITS)]);
    await expect(gone).rejects.toMatchObject({ kind: 'moved-on' });
  });

  it.each(['tables.list.lock', '0x000000000001-0x000000000002-abcdef01.ref.lock'])(
    'loses %s of a dead process at a start, and later with a write',
    async (name) => {
      const { repository } = await opened();
      const cleared: string[] = [];
      const source = await openCheckout(join(repository.folder, 'ds'), null, MACHINE, {
        onLocksCleared: (files) => void cleared.push(...files),
      });
      onTestFinished(source.close);
      const path = `${repository.folder}/.git/reftable/${name}`;
      await writeFile(path, '');
      await vi.waitFor(async () => {
        await source.recover();
        await expect(access(path)).rejects.toMatchObject({ code: 'ENOENT' });
      }, 60_000);
      expect(cleared).toEqual([`reftable/${name}`]);
      await writeFile(path, '');
      const id = await publishOne(source, EDITS);
      expect(await repository.git('rev-parse', 'main')).toBe(id);
      expect(await repository.git('status', '--porcelain')).toBe('');
    },
  );

  it('moves refs all or none', async () => {
    const { repository, source } = await opened();
    const tip = await repository.git('rev-parse', 'main');
    const [one, other] = ['refs/holdfast/ids', 'refs/holdfast/ids-base'];
    await moveRefs(source.repository, [
      { ref: one, to: tip, expected: null },
      { ref: other, to: tip },
    ]);
    const late = moveRefs(source.repository, [
      { ref: one, to: null },
      { ref: other, to: tip, expected: null },
    ]);
    await expect(late).rejects.toThrow('reference already exists');
    expect(await refTips(source.repository, [one, other])).toEqual([tip, tip]);
    await moveRefs(source.repository, [
      { ref: one, to: null },
      { ref: other, to: null, expected: tip },
    ]);
    expect(await refTips(source.repository, [one, other])).toEqual([null, null]);
  });
});

it('does not take ref tables that cannot be listed for a ref that is on the disk', async () => {
  const commonFolder = await temporaryFolder();
  await symlink('reftable', join(commonFolder, 'reftable'));
  await expect(syncRef({ commonFolder }, 'refs/heads/main')).rejects.toMatchObject({ code: 'ELOOP' });
});

it('finds the work trees whose paths are relative', async () => {
  const repository = await newRepository();
  await repository.commit(FILES);
  const linked = join(await temporaryFolder(), 'linked');
  await repository.git('worktree', 'add', '--quiet', linked);
  const note = join(repository.folder, '.git/worktrees/linked/gitdir');
  // As `worktree.useRelativePaths` has it (git 2.48 and newer).
  await writeFile(note, `${relative(dirname(note), linked)}/.git\n`);
  const source = await openSource(repository.folder);
  expect(await allFoldersOf(source.repository)).toContain(linked);
});

async function opened(...options: string[]) {
  const repository = await newRepository(REFTABLE, ...options);
  await repository.commit(FILES);
  return { repository, source: await openSource(join(repository.folder, 'ds')) };
}

async function isOlder({ git }: TestRepository, [major = 0, minor = 0]: readonly number[]) {
  const [, first, second] = /(\d+)\.(\d+)/.exec(await git('version')) ?? [];
  return Number(first) < major || (Number(first) === major && Number(second) < minor);
}

/** The heads that a watch has led to. While refs move from files to tables there is none: then the loop looks again later. */
async function follow({ reader, watch }: CheckoutSource): Promise<Head[]> {
  const seen = [await reader.head()];
  const looks: Promise<unknown>[] = [];
  const look = (): Promise<unknown> =>
    reader.head().then(
      (head) => seen.push(head),
      () => undefined,
    );
  const watcher = await watch(() => looks.push(look()));
  onTestFinished(async () => {
    await watcher.close();
    // A look that comes after the end of the reader would begin it again.
    await Promise.all(looks);
  });
  return seen;
}
