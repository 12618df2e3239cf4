import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openCheckout } from '../../../../src/source/git/checkout.ts';
import { followReplaced } from '../../../../src/source/git/repository/replaced.ts';
import { watchRepository } from '../../../../src/source/git/repository/watch.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { draftOf, MACHINE, newRepository, openSource, publishOne } from '../support.ts';

/** How many watches there are: a folder that is watched counts once for each. */
function watches(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'FSEventWrap').length;
}

/** The same once those are gone that could not be begun. */
async function settled(): Promise<number> {
  await new Promise((resolve) => setTimeout(resolve, 50));
  return watches();
}

async function replaced() {
  const repository = await newRepository();
  const source = await openSource(repository.folder);
  const { reader, watch } = await followReplaced({
    reader: source.reader,
    repository: source.repository,
    closeProcesses: async () => undefined,
    watch: (onChange) => watchRepository(source.repository, onChange),
  });
  const replace = async (): Promise<void> => {
    const next = await newRepository();
    await rename(join(repository.folder, '.git'), join(await temporaryFolder(), 'old'));
    await rename(join(next.folder, '.git'), join(repository.folder, '.git'));
  };
  return { reader, watch, replace };
}

it('watches a checkout that took the place of another one once, however many look at it at the same time', async () => {
  const { reader, watch, replace } = await replaced();
  const none = await settled();
  const watcher = await watch(() => undefined);
  onTestFinished(() => watcher.close());
  const before = await settled();
  await replace();
  await Promise.all([reader.head(), reader.head(), reader.head()]);
  await vi.waitFor(() => expect(watches()).toBe(before), 60_000);
  await watcher.close();
  await vi.waitFor(() => expect(watches()).toBe(none), 60_000);
});

it('ends a watch that is begun anew just then', async () => {
  const { reader, watch, replace } = await replaced();
  const none = await settled();
  const watcher = await watch(() => undefined);
  await replace();
  const looks = reader.head();
  await new Promise((resolve) => setImmediate(resolve));
  await watcher.close();
  await looks;
  await vi.waitFor(() => expect(watches()).toBe(none), 60_000);
});

it('undoes a write that was cut short, where a repository of another format took the place', async () => {
  const repository = await newRepository();
  await repository.commit({ 'apps/old.yaml': 'a: 1\n' });
  let isCut = true;
  const pass = (point: string): void => {
    if (!isCut || point !== 'tree-switched') return;
    isCut = false;
    throw new Error('cut');
  };
  const source = await openCheckout(repository.folder, null, MACHINE, { faults: { pass } });
  onTestFinished(source.close);
  await rename(join(repository.folder, '.git'), join(await temporaryFolder(), 'old'));
  await repository.git('init', '--quiet', '--initial-branch=main', '--object-format=sha256');
  await repository.commit({ 'apps/old.yaml': 'a: 2\n' });
  const edits = { 'apps/new.yaml': 'n: 1\n', 'apps/old.yaml': 'a: 3\n' };
  const base = await source.reader.head();
  await expect(source.publisher.publish(base, [draftOf(edits)])).rejects.toThrow();
  // A person's work, so git's own way back is not taken.
  await writeFile(join(repository.folder, 'apps/old.yaml'), 'mine\n');
  await publishOne(source, { 'apps/other.yaml': 'a\n' });
  expect(await repository.git('status', '--porcelain')).toBe(' M apps/old.yaml');
});
