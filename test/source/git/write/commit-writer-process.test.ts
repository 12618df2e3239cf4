import { readdir, rename, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { removeFailedWriter } from '../../../../src/source/git/mirror/leftovers.ts';
import { openCommitWriter } from '../../../../src/source/git/write/commit-writer.ts';
import type { TestRepository } from '../../../support/git.ts';
import { draftOf, notingGit, repositoryOf } from '../support.ts';
import { filesAt, start } from './commit-writer-support.ts';

const noting = await notingGit();

/** A repository as `start` makes it, and a writer in it that has made a commit; `noting` has its process id. */
async function startNoted() {
  const { repository, base } = await start();
  const opened = repositoryOf(repository.folder, 'ds');
  const writer = openCommitWriter({ ...opened, context: noting.use(opened.context) }, () =>
    removeFailedWriter(opened.gitFolder),
  );
  onTestFinished(() => writer.close());
  await writer.write(base, [draftOf({ 'apps/a.yaml': 'a' })]);
  return { repository, base, writer };
}

/** Crash reports and `.keep` files in the git folder. */
async function leftoversOf({ folder }: TestRepository): Promise<string[]> {
  const git = join(folder, '.git');
  const names = [...(await readdir(git)), ...(await readdir(join(git, 'objects/pack')))];
  return names.filter((name) => /crash|keep$/.test(name));
}

describe('a writer', () => {
  it('that is closed after .git was moved away creates nothing in its place', async () => {
    const { repository, base, writer } = await start();
    await writer.write(base, [draftOf({ 'apps/web.yaml': 'b\n' })]);
    await rename(join(repository.folder, '.git'), join(repository.folder, 'away'));
    await writer.close();
    expect(await readdir(repository.folder)).not.toContain('.git');
  });
});

describe('the fast-import process', () => {
  it.each([
    ['gc', ['gc', '--quiet']],
    ['repack', ['repack', '-a', '-d', '-f', '--quiet']],
  ])('keeps working after git %s removed the packs that it knows', async (_, args) => {
    const { repository, base, writer } = await start();
    const {
      commits: [first = ''],
    } = await writer.write(base, [draftOf({ 'apps/a.yaml': 'a', 'apps/b.yaml': 'b' })]);
    await repository.git('reset', '--quiet', '--hard', first);
    await repository.git(...args);
    const {
      commits: [second = ''],
    } = await writer.write(first, [draftOf({ 'apps/a.yaml': 'c', 'apps/web.yaml': 'b' })]);
    expect(await filesAt(repository, second)).toHaveLength(3);
    await repository.git('fsck', '--strict', second);
  });

  it('is replaced if a cleanup removed even its unfinished pack, and leaves nothing behind', async () => {
    const { repository, base, writer } = await start();
    await writer.write(base, [draftOf({ 'apps/a.yaml': 'a' })]);
    await repository.git('gc', '--quiet', '--prune=now');
    const {
      commits: [id = ''],
    } = await writer.write(base, [draftOf({ 'apps/a.yaml': 'b' })]);
    expect(await repository.show('ds/apps/a.yaml', id)).toBe('b');
    await writer.close();
    expect(await leftoversOf(repository)).toEqual([]);
  });

  it('is replaced after it was killed: the next write succeeds, and nothing is left behind', async () => {
    const { repository, base, writer } = await startNoted();
    process.kill((await noting.last()) as number, 'SIGKILL');
    const {
      commits: [id = ''],
    } = await writer.write(base, [draftOf({ 'apps/a.yaml': 'b' })]);
    expect(await filesAt(repository, id)).toHaveLength(2);
    await writer.close();
    expect(await leftoversOf(repository)).toEqual([]);
  });

  it('is replaced after it was killed, and .keep files of others stay', async () => {
    const { repository, base, writer } = await startNoted();
    const killed = (await noting.last()) as number;
    await writeFile(join(repository.folder, '.git/objects/pack/pack-1.keep'), 'release 1.0');
    process.kill(killed, 'SIGKILL');
    await writer.write(base, [draftOf({ 'apps/a.yaml': 'b' })]);
    await writer.close();
    expect(await leftoversOf(repository)).toEqual(['pack-1.keep']);
  });

  it('is replaced after it was killed, and crash reports and old half packs of earlier ones are removed', async () => {
    const { repository, base, writer } = await startNoted();
    const git = join(repository.folder, '.git');
    await writeFile(join(git, 'fast_import_crash_4711'), '');
    await writeFile(join(git, 'fast_import_crash_4712'), 'fast-import crash report:\n');
    for (const name of ['tmp_pack_full', 'tmp_idx_full']) {
      await writeFile(join(git, 'objects/pack', name), 'PACK');
      await utimes(join(git, 'objects/pack', name), new Date(0), new Date(0));
    }
    process.kill((await noting.last()) as number, 'SIGKILL');
    await writer.write(base, [draftOf({ 'apps/a.yaml': 'b' })]);
    await writer.close();
    expect(await leftoversOf(repository)).toEqual([]);
    const packs = await readdir(join(git, 'objects/pack'));
    expect(packs.filter((name) => name.endsWith('_full'))).toEqual([]);
  });

  it('is replaced after it was killed, and half packs that are young stay', async () => {
    const { repository, base, writer } = await startNoted();
    const killed = (await noting.last()) as number;
    const packs = join(repository.folder, '.git/objects/pack');
    const halves = ['old', 'young'].map((name) => join(packs, `tmp_pack_${name}`));
    for (const half of halves) await writeFile(half, 'PACK');
    const now = Date.now() / 1000;
    // Young enough even if a slow machine takes minutes for what follows.
    const times = [now - 600, now + 600];
    for (const [index, half] of halves.entries()) await utimes(half, now, times[index] as number);
    process.kill(killed, 'SIGKILL');
    await writer.write(base, [draftOf({ 'apps/a.yaml': 'b' })]);
    const left = (await readdir(packs)).filter((name) => halves.includes(join(packs, name)));
    expect(left.sort()).toEqual(['tmp_pack_young']);
  });

  it('ends after 30 seconds without work, and is started again by the next write, even one that comes just then', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { repository, base, writer } = await startNoted();
    const first = await noting.last();
    await writer.write(base, [draftOf({ a: '1' })]);
    expect(await noting.last()).toBe(first);
    vi.advanceTimersByTime(30_000);
    const {
      commits: [id = ''],
    } = await writer.write(base, [draftOf({ a: '2' })]);
    expect(await noting.last()).not.toBe(first);
    expect(await repository.git('rev-parse', `${id}^`)).toBe(base);
    // A process that ended in the middle of that write would have left half of the commit.
    const objects = await repository.git('cat-file', '--batch-check', '--batch-all-objects');
    expect(objects.match(/ commit /g)).toHaveLength(4);
  });
});
