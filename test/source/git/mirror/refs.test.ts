import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { messageOf } from '../../../../src/errors.ts';
import { openMirror } from '../../../../src/source/git/mirror/mirror.ts';
import { openRemote } from '../../../../src/source/git/mirror/remote.ts';
import { createOrigin } from '../../../../src/source/git/origin/origin.ts';
import { createTransfers } from '../../../../src/source/git/process/transfer.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository } from '../../../support/git.ts';
import { SMALL_FLEET } from '../../../support/manager.ts';
import { remoteOptions, type TestOrigin, testOrigin } from '../../../support/origin.ts';
import { REMOTE_RECORD } from '../../../support/record-files.ts';

const RECORD = REMOTE_RECORD;
const SEEN = RECORD.replace('record', 'origin-record');
const TRACKED = 'refs/remotes/origin/main';
/** Refs that anyone can push, and that an inexact pattern would take for the record. */
const LOOKALIKES = [
  'refs/holdfast/record/0123456789ab',
  `${RECORD.slice(0, -1)}`,
  'refs/holdfast/recorder',
  // git also looks below these folders for a name that does not exist.
  `refs/heads/${RECORD}`,
  `refs/tags/${RECORD}`,
];

/** The names that git can use instead of one that does not exist. */
const aliasesOf = (name: string): string[] =>
  ['refs', 'refs/tags', 'refs/heads', 'refs/remotes'].map((folder) => `${folder}/${name}`);

const refsOf = async (repository: TestRepository): Promise<string[]> =>
  (await repository.git('for-each-ref', '--format=%(refname)')).split('\n').filter(Boolean);

const createRefs = (origin: TestOrigin, ...names: string[]): Promise<unknown> =>
  Promise.all(names.map((name) => origin.bare.git('update-ref', name, 'main')));

/** Points refs of origin to a commit; null deletes them. */
const pointRefs = (origin: TestOrigin, names: readonly string[], to: string | null): Promise<unknown> =>
  Promise.all(
    names.map((name) => origin.bare.git('update-ref', ...(to === null ? ['-d', name] : [name, to]))),
  );

async function follow(origin: TestOrigin, dataFolder: string) {
  const source = await openRemote(remoteOptions(origin.url, dataFolder));
  onTestFinished(source.close);
  const mirror = repositoryAt(source.repository.gitFolder);
  return { ...source, mirror, refs: () => refsOf(mirror) };
}

it('a fetch brings the branch and the record of ids if there is one, and no other ref', async () => {
  const origin = await testOrigin(SMALL_FLEET);
  await createRefs(origin, ...LOOKALIKES);
  const { refs, origin: followed } = await follow(origin, await temporaryFolder());
  await followed.refresh();
  expect(await refs()).toEqual([TRACKED]);
  await createRefs(origin, RECORD);
  await followed.refresh();
  expect(await refs()).toEqual([SEEN, TRACKED]);
  await origin.bare.git('update-ref', '-d', RECORD);
  await followed.refresh();
  expect(await refs()).toEqual([TRACKED]);
});

it('a fetch brings only the record of ids if the branch does not exist', async () => {
  const origin = await testOrigin(SMALL_FLEET);
  await createRefs(origin, RECORD, ...LOOKALIKES);
  await origin.bare.git('update-ref', '-d', 'refs/heads/main');
  const { refs, origin: followed } = await follow(origin, await temporaryFolder());
  await expect(followed.refresh()).rejects.toThrow(/origin has no branch "main"/);
  expect(await refs()).toEqual([SEEN]);
});

it('a fetch takes no other ref for the branch while that does not exist', async () => {
  const origin = await testOrigin(SMALL_FLEET);
  const { mirror, refs, origin: followed } = await follow(origin, await temporaryFolder());
  await followed.refresh();
  const before = await origin.bare.git('rev-parse', 'main');
  const after = await origin.push({ 'desired-state/apps/web.yaml': 'image: other:1\n' });
  const full = aliasesOf('refs/heads/main');
  const short = aliasesOf('heads/main').filter((name) => name !== 'refs/heads/main');
  for (const names of [full, short, [...full, ...short]]) {
    await pointRefs(origin, names, after);
    await pointRefs(origin, ['refs/heads/main'], null);
    await expect(followed.refresh()).rejects.toThrow(/^origin has no branch "main" any more.*\(there are: /);
    expect(await mirror.git('rev-parse', TRACKED)).toBe(before);
    await pointRefs(origin, names, null);
    await pointRefs(origin, ['refs/heads/main'], before);
  }
  await pointRefs(origin, [...full, ...short], after);
  await followed.refresh();
  expect(await mirror.git('rev-parse', TRACKED)).toBe(before);
  expect(await refs()).toEqual([TRACKED]);
});

it.each(['refs/heads/main', RECORD])('a push goes to no other ref if %s does not exist', async (ref) => {
  const origin = await testOrigin(SMALL_FLEET);
  const from = await origin.bare.git('rev-parse', 'main');
  const options = remoteOptions(origin.url, await temporaryFolder());
  const { transfer } = await openMirror(options, TRACKED);
  const { fetch, push } = createOrigin(
    createTransfers(transfer),
    { branch: 'refs/heads/main', record: RECORD },
    options.limits,
  );
  const to = await origin.push({ 'desired-state/apps/web.yaml': 'image: new:1\n' });
  await fetch('first');
  await pointRefs(origin, ['refs/heads/main'], null);
  for (const alias of [...aliasesOf(ref), `refs/remotes/${ref}/HEAD`]) {
    await pointRefs(origin, [alias], from);
    for (const expected of [from, null])
      await expect(push(ref, expected, to)).rejects.toThrow(
        `origin has another ref whose name ends with ${ref}, so git does not push to it`,
      );
    expect(await origin.bare.git('for-each-ref', '--format=%(objectname) %(refname)')).toBe(
      `${from} ${alias}`,
    );
    await pointRefs(origin, [alias], null);
  }
});

it('a failed fetch reports the error, not the ignored refs', async () => {
  const origin = await testOrigin(SMALL_FLEET);
  await createRefs(origin, ...LOOKALIKES);
  const blob = await origin.bare.git('rev-parse', 'main:desired-state/apps/web.yaml');
  await rm(join(origin.url, 'objects', blob.slice(0, 2), blob.slice(2)));
  const { origin: followed } = await follow(origin, await temporaryFolder());
  const failure = await followed.refresh().catch((error: Error) => error);
  expect(messageOf((failure as Error).cause)).toMatch(/^git fetch failed: (?!.*recorder)./s);
});
