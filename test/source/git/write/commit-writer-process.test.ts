import { readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openCommitWriter } from '../../../../src/source/git/write/commit-writer.ts';
import { draftOf, notingGit, repositoryOf } from '../support.ts';
import { filesAt, start } from './commit-writer-support.ts';

const noting = await notingGit();

/**
 * A repository as `start` makes it, and a writer in it that has made a commit; `noting` has its process id. `failures` says how
 * often one has failed.
 */
async function startNoted() {
  const { repository, base } = await start();
  const opened = repositoryOf(repository.folder, 'ds');
  let failures = 0;
  const writer = openCommitWriter({ ...opened, context: noting.use(opened.context) }, async () => {
    failures += 1;
  });
  onTestFinished(() => writer.close());
  await writer.write(base, [draftOf({ 'apps/a.yaml': 'a' })]);
  return { repository, base, writer, failures: () => failures };
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

  it('is replaced after it was killed: the next write succeeds, and what it left can be removed before', async () => {
    const { repository, base, writer, failures } = await startNoted();
    process.kill((await noting.last()) as number, 'SIGKILL');
    const {
      commits: [id = ''],
    } = await writer.write(base, [draftOf({ 'apps/a.yaml': 'b' })]);
    expect(await filesAt(repository, id)).toHaveLength(2);
    expect(failures()).toBe(1);
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
