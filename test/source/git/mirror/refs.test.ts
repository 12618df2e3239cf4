import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { messageOf } from '../../../../src/errors.ts';
import { openRemote } from '../../../../src/source/git/mirror/remote.ts';
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

const refsOf = async (repository: TestRepository): Promise<string[]> =>
  (await repository.git('for-each-ref', '--format=%(refname)')).split('\n').filter(Boolean);

const createRefs = (origin: TestOrigin, ...names: string[]): Promise<unknown> =>
  Promise.all(names.map((name) => origin.bare.git('update-ref', name, 'main')));

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

it('a failed fetch reports the error, not the ignored refs', async () => {
  const origin = await testOrigin(SMALL_FLEET);
  await createRefs(origin, ...LOOKALIKES);
  const blob = await origin.bare.git('rev-parse', 'main:desired-state/apps/web.yaml');
  await rm(join(origin.url, 'objects', blob.slice(0, 2), blob.slice(2)));
  const { origin: followed } = await follow(origin, await temporaryFolder());
  const failure = await followed.refresh().catch((error: Error) => error);
  expect(messageOf((failure as Error).cause)).toMatch(/^git fetch failed: (?!.*recorder)./s);
});
