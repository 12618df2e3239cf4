import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { repositoryAt, type TestRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';

const WEB = 'desired-state/apps/web.yaml';

/** Every image that the app `web` ever had on the branch, oldest first. */
async function imagesInHistory({ repository }: TestManager): Promise<string[]> {
  const commits = (await repository.git('rev-list', '--reverse', 'main', '--', WEB)).split('\n');
  const texts = await Promise.all(commits.map((id) => repository.show(WEB, id)));
  return texts.map((text) => /container_image: (\S+)/.exec(text)?.[1] ?? '');
}

/** Writes through the API; resolves to whether the write was accepted. It may only be accepted or get 409. */
async function writeByApi(manager: TestManager, image: string): Promise<boolean> {
  const reply = await manager.put('/api/v2/apps/web/update', { container_image: image });
  expect([202, 409], reply.text).toContain(reply.status);
  return reply.status === 202;
}

/** Accepted images are in the history, refused ones are not, and the last one in the history is applied. */
async function expectNothingVanished(
  manager: TestManager,
  accepted: string[],
  refused: string[],
): Promise<void> {
  const images = await imagesInHistory(manager);
  expect(images).toEqual(expect.arrayContaining(accepted));
  for (const image of refused) expect(images).not.toContain(image);
  await manager.reconcile();
  expect((await manager.get('/api/v2/apps/web')).body.container_image).toBe(images.at(-1));
  expect(await manager.repository.git('fsck', '--no-dangling', '--strict')).toBe('');
}

describe('an API write and a concurrent commit by a user to the same field', { retry: 0 }, () => {
  it('are both in the history, or the write was refused, if the user commits in the checkout', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { repository } = manager;
    const [accepted, refused]: [string[], string[]] = [[], []];
    for (let round = 0; round < 15; round++) {
      const [ours, theirs] = [`api:${round}`, `user:${round}`];
      const commitByUser = async (): Promise<void> => {
        const text = await readFile(join(repository.folder, WEB), 'utf8');
        await writeFile(
          join(repository.folder, WEB),
          text.replace(/container_image: .*/, `container_image: ${theirs}`),
        );
        // A commit fails while the manager holds the lock; the user's edit stays in the file.
        const tryCommit = (): Promise<boolean> =>
          repository.git('commit', '--quiet', '--all', '-m', theirs).then(
            () => true,
            () => false,
          );
        await expect.poll(tryCommit, { timeout: 60_000 }).toBe(true);
        accepted.push(theirs);
      };
      const [isAccepted] = await Promise.all([writeByApi(manager, ours), commitByUser()]);
      (isAccepted ? accepted : refused).push(ours);
    }
    expect(await repository.git('status', '--porcelain')).toBe('');
    expect(accepted.length).toBeGreaterThan(10);
    await expectNothingVanished(manager, accepted, refused);
  });

  it('are both in the history, or one was refused, if the user pushes from a clone', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { repository } = manager;
    await repository.git('config', 'receive.denyCurrentBranch', 'updateInstead');
    const clone = repositoryAt(join(await temporaryFolder(), 'clone'));
    await repository.git('clone', '--quiet', repository.folder, clone.folder);
    const [accepted, refused]: [string[], string[]] = [[], []];
    for (let round = 0; round < 12; round++) {
      const [ours, theirs] = [`api:${round}`, `user:${round}`];
      const pushByUser = async (): Promise<void> => {
        await clone.git('fetch', '--quiet', 'origin');
        await clone.git('reset', '--quiet', '--hard', 'origin/main');
        await clone.commit({ [WEB]: `container_image: ${theirs}\n` }, theirs);
        const isAccepted = await clone.git('push', '--quiet', 'origin', 'main').then(
          () => true,
          () => false,
        );
        (isAccepted ? accepted : refused).push(theirs);
      };
      const [isAccepted] = await Promise.all([writeByApi(manager, ours), pushByUser()]);
      (isAccepted ? accepted : refused).push(ours);
      // A push that lost can leave its files in the checkout, since git updates the files before the branch.
      await repository.git('reset', '--quiet', '--hard');
    }
    expect(accepted.length).toBeGreaterThan(5);
    await expectNothingVanished(manager, accepted, refused);
    expect(await repository.git('status', '--porcelain')).toBe('');
  });
});

/** Commits without yielding to the event loop, so that the manager in this process cannot have seen it yet. */
function commitAtOnce({ folder }: TestRepository, path: string, text: string | null): void {
  if (text === null) rmSync(join(folder, path));
  else writeFileSync(join(folder, path), text);
  const user = ['-c', 'user.name=p', '-c', 'user.email=p@x'];
  for (const args of [
    ['add', '--all'],
    [...user, 'commit', '--quiet', '-m', 'by a user'],
  ])
    expect(spawnSync('git', args, { cwd: folder }).status).toBe(0);
}

describe('a request right after a commit, which the watch has not reported yet', { retry: 0 }, () => {
  const app = (name: string) => `desired-state/apps/${name}.yaml`;
  const group = (name: string) => `desired-state/device-groups/${name}.yaml`;
  const image = { container_image: 'made:2' };
  const text = 'container_image: made:1\n';
  const manager = suiteManager({ files: { ...SMALL_FLEET, 'apps/gone.yaml': text } });

  it.each([
    ['a full update', app('one'), text, 'POST', 'apps/one/update', { body: image }, 202],
    ['a partial update', app('two'), text, 'PUT', 'apps/two/update', { body: image }, 202],
    ['a start', app('three'), text, 'POST', 'apps/three/start', {}, 202],
    ['a restart', app('four'), text, 'POST', 'apps/four/restart', {}, 202],
    ['a delete', app('five'), text, 'DELETE', 'apps/five', {}, 200],
    [
      'an update of a group',
      group('six'),
      'apps: [web]\n',
      'PUT',
      'device_groups/six/update',
      { body: { apps: [] } },
      202,
    ],
    ['a prune of a group', group('seven'), 'apps: [web]\n', 'POST', 'device_groups/seven/prune', {}, 202],
    ['a create of a deleted app', app('gone'), null, 'POST', 'apps/gone', { body: image }, 200],
  ] as const)(
    '%s: is carried out on top of that commit',
    async (_, file, committed, method, path, options, status) => {
      commitAtOnce(manager().repository, file, committed);
      const reply = await manager().request(method, `/api/v2/${path}`, options);
      expect(reply.status, reply.text).toBe(status);
    },
  );
});
