import { appendFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isWhole } from '../../../../src/source/git/origin/mirror-state.ts';
import { openRemote } from '../../../../src/source/git/origin/remote.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { SMALL_FLEET } from '../../../support/manager.ts';
import { remoteOptions, type TestOrigin, testOrigin } from '../../../support/origin.ts';
import { plumbingOf } from '../../../support/plumbing.ts';

/** A mirror that has fetched. `packs` are paths; `open` opens it anew. */
async function mirrorOf(origin: TestOrigin) {
  const options = remoteOptions(origin.url, await temporaryFolder());
  const open = async () => {
    const source = await openRemote(options);
    onTestFinished(source.close);
    return source;
  };
  const source = await open();
  await source.origin.refresh();
  const folder = source.repository.gitFolder;
  const names = await readdir(join(folder, 'objects/pack'));
  const packs = names
    .filter((name) => name.endsWith('.pack'))
    .map((name) => join(folder, 'objects/pack', name));
  const { repository } = source;
  return {
    folder,
    packs,
    open,
    isWhole: () => isWhole({ options, repository, limits: options.limits }),
  };
}

describe('isWhole', () => {
  it('is true after a fetch', async () => {
    const mirror = await mirrorOf(await testOrigin(SMALL_FLEET));
    expect(await mirror.isWhole()).toBe(true);
  });

  it('is true if `git fsck` only reports bad trees of users, which a new mirror would have too', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const plumbing = plumbingOf(origin.bare);
    const entry = { mode: '100644', name: 'twice', id: plumbing.blob('x') };
    const dotGit = { mode: '40000', name: '.git', id: plumbing.tree([entry, entry]) };
    plumbing.publish(plumbing.tree([dotGit, ...plumbing.entriesOf('main')]));
    await expect(origin.bare.git('fsck')).rejects.toThrow(/duplicateEntries|contains duplicate/);
    const mirror = await mirrorOf(origin);
    expect(await mirror.isWhole()).toBe(true);
  });

  it.each<[string, (mirror: { folder: string; packs: string[] }) => Promise<unknown>]>([
    ['without its packs', ({ packs }) => Promise.all(packs.map((path) => rm(path)))],
    [
      'with a damaged pack',
      ({ packs }) => Promise.all(packs.map((path) => rm(path).then(() => writeFile(path, 'PACK damaged')))),
    ],
    ['with a config that git cannot read', ({ folder }) => appendFile(join(folder, 'config'), '\n[[[')],
    [
      'with a list of shallow commits that git cannot read',
      ({ folder }) => writeFile(join(folder, 'shallow'), 'junk\n'),
    ],
    [
      'with the address of another origin',
      ({ folder }) => writeFile(join(folder, 'holdfast-origin'), '/elsewhere'),
    ],
    ['that was deleted', ({ folder }) => rm(folder, { recursive: true })],
  ])('is false for a mirror %s, which works again after it is reopened', async (_name, damage) => {
    const mirror = await mirrorOf(await testOrigin(SMALL_FLEET));
    await damage(mirror);
    expect(await mirror.isWhole()).toBe(false);
    const again = await mirror.open();
    await again.origin.refresh().catch(() => again.origin.refresh());
    expect((await again.reader.head()).revision).not.toBeNull();
  });
});
