import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { followReplaced } from '../../../../src/source/git/watch/replaced.ts';
import { watchRepository } from '../../../../src/source/git/watch/watch.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { newRepository, openSource, publishOne } from '../support.ts';

/** The number of folders that this process watches now. */
function countWatches(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'FSEventWrap').length;
}

/** The same, without watches of missing folders: those fail, and are gone a moment later. */
async function countLastingWatches(): Promise<number> {
  await sleep(50);
  return countWatches();
}

const IGNORED = { onChange: () => undefined, onTrouble: () => undefined };

/** An open repository that survives its replacement; `replace` puts another one in its place. */
async function openReplaceable() {
  const repository = await newRepository();
  const source = await openSource(repository.folder);
  const { reader, watch } = await followReplaced({
    reader: source.reader,
    repository: source.repository,
    closeProcesses: async () => undefined,
    watch: (events) => watchRepository(source.repository, async () => 'refs/heads/main', events),
  });
  const replace = async (): Promise<void> => {
    const next = await newRepository();
    await rename(join(repository.folder, '.git'), join(await temporaryFolder(), 'old'));
    await rename(join(next.folder, '.git'), join(repository.folder, '.git'));
  };
  return { reader, watch, replace };
}

it('followReplaced restarts a watch once, even if several reads find the replacement at the same time', async () => {
  const { reader, watch, replace } = await openReplaceable();
  const none = await countLastingWatches();
  const watcher = await watch(IGNORED);
  onTestFinished(() => watcher.close());
  const before = await countLastingWatches();
  await replace();
  await Promise.all([reader.head(), reader.head(), reader.head()]);
  await vi.waitFor(() => expect(countWatches()).toBe(before), 60_000);
  await watcher.close();
  await vi.waitFor(() => expect(countWatches()).toBe(none), 60_000);
});

it('followReplaced ends a watch that is closed while it is being restarted', async () => {
  const { reader, watch, replace } = await openReplaceable();
  const none = await countLastingWatches();
  const watcher = await watch(IGNORED);
  await replace();
  const head = reader.head();
  await setImmediate();
  await watcher.close();
  await head;
  await vi.waitFor(() => expect(countWatches()).toBe(none), 60_000);
});

it('a write goes to a repository of another object format that has replaced the opened one', async () => {
  const repository = await newRepository();
  await repository.commit({ 'apps/old.yaml': 'a: 1\n' });
  const source = await openSource(repository.folder);
  await publishOne(source, { 'apps/old.yaml': 'a: 2\n' });
  await rename(join(repository.folder, '.git'), join(await temporaryFolder(), 'old'));
  await repository.git('init', '--quiet', '--initial-branch=main', '--object-format=sha256');
  await repository.commit({ 'apps/old.yaml': 'a: 3\n' });
  const id = await publishOne(source, { 'apps/new.yaml': 'n: 1\n' });
  expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
  expect(await repository.git('status', '--porcelain')).toBe('');
});
