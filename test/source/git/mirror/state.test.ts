import { appendFile, chmod, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isShutdownError } from '../../../../src/errors.ts';
import { openRemote } from '../../../../src/source/git/mirror/remote.ts';
import { isWhole } from '../../../../src/source/git/mirror/state.ts';
import { createTransfers } from '../../../../src/source/git/process/transfer.ts';
import type { Reader } from '../../../../src/source/source.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { SMALL_FLEET } from '../../../support/manager.ts';
import { remoteOptions, type TestOrigin, testOrigin } from '../../../support/origin.ts';
import { plumbingOf } from '../../../support/plumbing.ts';
import { machineWith } from '../support.ts';

/** A mirror that has fetched. `packs` are paths; `open` opens it again. */
async function mirrorOf(origin: TestOrigin, path?: string) {
  const options = remoteOptions(origin.url, await temporaryFolder(), path);
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
    isWhole: () =>
      isWhole({ options, repository, limits: options.limits, checks: createTransfers(repository.context) }),
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

  it('is true also if it reports thousands of them, of which only the last are kept', async () => {
    const objection = `error in tree ${'1'.repeat(40)}: duplicateEntries: contains duplicate file entries`;
    const { env } = await machineWith(
      `test "$1" = fsck && { yes '${objection}' | head -n 4000 >&2; exit 1; }`,
    );
    const mirror = await mirrorOf(await testOrigin(SMALL_FLEET), env['PATH']);
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

/** A mirror of three commits in which the second is damaged: the first object of its pack. */
async function damagedMirror() {
  const origin = await testOrigin(SMALL_FLEET);
  const source = await openRemote(remoteOptions(origin.url, await temporaryFolder()));
  onTestFinished(source.close);
  const folder = join(source.repository.gitFolder, 'objects/pack');
  await source.origin.refresh();
  const first = await origin.bare.git('rev-parse', 'main');
  const before = await readdir(folder);
  await origin.push({ 'desired-state/apps/a.yaml': 'container_image: a:1\n' });
  await source.origin.refresh();
  const added = (await readdir(folder)).filter((name) => !before.includes(name));
  const last = await origin.push({ 'desired-state/README.md': 'new\n' });
  await source.origin.refresh();
  const path = join(folder, added.find((name) => name.endsWith('.pack')) as string);
  const bytes = await readFile(path);
  await chmod(path, 0o600);
  await writeFile(path, bytes.fill(0, 14, 40));
  return { source, first, last };
}

describe('a mirror in which an old commit is damaged', () => {
  it.each<[string, (reader: Reader, first: string, last: string) => Promise<unknown>]>([
    ['commonAncestor', (reader, first, last) => reader.commonAncestor(first, last)],
    ['lastChange', (reader, _, last) => reader.lastChange(last)],
    ['touchedPaths', (reader, first, last) => reader.touchedPaths(first, last)],
    ['log', (reader, _, from) => reader.log({ from, until: null, limit: 9, skipsFirst: false })],
  ])('is made again by the next fetch after %s has failed on it', async (_name, read) => {
    const { source, first, last } = await damagedMirror();
    await expect(read(source.reader, first, last)).rejects.toMatchObject({ kind: 'unavailable' });
    await source.origin.refresh();
    expect(await read(source.reader, first, last)).not.toBeNull();
  });
});

describe('the check of a mirror that may be damaged', () => {
  it('ends at once when the manager stops', async () => {
    const hanging = await temporaryFolder();
    const { env } = await machineWith(`test "$1" = fsck && touch ${hanging}/fsck && exec sleep 600`);
    const origin = await testOrigin(SMALL_FLEET);
    const source = await openRemote(remoteOptions(origin.url, await temporaryFolder(), env['PATH']));
    onTestFinished(source.close);
    await source.origin.refresh();
    await expect(source.reader.commit('0'.repeat(40))).rejects.toThrow('not in the repository');
    const check = source.origin.refresh();
    await expect.poll(() => readdir(hanging), { timeout: 60_000 }).toEqual(['fsck']);
    source.origin.interrupt();
    await expect(check).rejects.toSatisfy(isShutdownError);
  });
});
