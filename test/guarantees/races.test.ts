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

/** Every image that the file ever had on the branch, oldest first. */
async function history({ repository }: TestManager): Promise<string[]> {
  const commits = (await repository.git('rev-list', '--reverse', 'main', '--', WEB)).split('\n');
  const texts = await Promise.all(commits.map((id) => repository.show(WEB, id)));
  return texts.map((text) => /container_image: (\S+)/.exec(text)?.[1] ?? '');
}

/** A write through the API; whether it was accepted. Anything but yes and "somebody else has it" is a fault. */
async function byApi(manager: TestManager, image: string): Promise<boolean> {
  const reply = await manager.put('/api/v2/apps/web/update', { container_image: image });
  expect([202, 409], reply.text).toContain(reply.status);
  return reply.status === 202;
}

/** What was accepted is in the history, what was refused is not, and the last word is what devices get. */
async function expectNothingVanished(
  manager: TestManager,
  accepted: string[],
  refused: string[],
): Promise<void> {
  const images = await history(manager);
  expect(images).toEqual(expect.arrayContaining(accepted));
  for (const image of refused) expect(images).not.toContain(image);
  await manager.reconcile();
  expect((await manager.get('/api/v2/apps/web')).body.container_image).toBe(images.at(-1));
  expect(await manager.repository.git('fsck', '--no-dangling', '--strict')).toBe('');
}

describe('an API write that races a person at the same field', () => {
  it('in the same checkout: both are in history, or one was told no', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { repository } = manager;
    const [accepted, refused]: [string[], string[]] = [[], []];
    const note = (image: string, isIn: boolean): void => void (isIn ? accepted : refused).push(image);
    for (let round = 0; round < 15; round++) {
      const [mine, theirs] = [`api:${round}`, `person:${round}`];
      const person = async (): Promise<void> => {
        const text = await readFile(join(repository.folder, WEB), 'utf8');
        await writeFile(
          join(repository.folder, WEB),
          text.replace(/container_image: .*/, `container_image: ${theirs}`),
        );
        // While a lock of the other's is in the way, what the person wrote still lies there.
        const tryCommit = (): Promise<boolean> =>
          repository.git('commit', '--quiet', '--all', '-m', theirs).then(
            () => true,
            () => false,
          );
        await expect.poll(tryCommit, { timeout: 60_000 }).toBe(true);
        note(theirs, true);
      };
      await Promise.all([byApi(manager, mine).then((isIn) => note(mine, isIn)), person()]);
    }
    expect(await repository.git('status', '--porcelain')).toBe('');
    expect(accepted.length).toBeGreaterThan(10);
    await expectNothingVanished(manager, accepted, refused);
  });

  it('who pushes from a clone: both are in history, or one was told no', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { repository } = manager;
    await repository.git('config', 'receive.denyCurrentBranch', 'updateInstead');
    const clone = repositoryAt(join(await temporaryFolder(), 'clone'));
    await repository.git('clone', '--quiet', repository.folder, clone.folder);
    const [accepted, refused]: [string[], string[]] = [[], []];
    for (let round = 0; round < 12; round++) {
      const [mine, theirs] = [`api:${round}`, `person:${round}`];
      const person = async (): Promise<void> => {
        await clone.git('fetch', '--quiet', 'origin');
        await clone.git('reset', '--quiet', '--hard', 'origin/main');
        await clone.commit({ [WEB]: `container_image: ${theirs}\n` }, theirs);
        const isIn = await clone.git('push', '--quiet', 'origin', 'main').then(
          () => true,
          () => false,
        );
        (isIn ? accepted : refused).push(theirs);
      };
      const api = byApi(manager, mine).then((isIn) => void (isIn ? accepted : refused).push(mine));
      await Promise.all([api, person()]);
      // A push that lost can leave its files in the checkout: git looks at it first, and at the branch last.
      await repository.git('reset', '--quiet', '--hard');
    }
    expect(accepted.length).toBeGreaterThan(5);
    await expectNothingVanished(manager, accepted, refused);
    expect(await repository.git('status', '--porcelain')).toBe('');
  });
});

/** Commits before anything else of this process can go on, so that no pass has seen it when the next call comes. */
function commitAtOnce({ folder }: TestRepository, path: string, text: string | null): void {
  if (text === null) rmSync(join(folder, path));
  else writeFileSync(join(folder, path), text);
  const person = ['-c', 'user.name=p', '-c', 'user.email=p@x'];
  for (const args of [
    ['add', '--all'],
    [...person, 'commit', '--quiet', '-m', 'mine'],
  ])
    expect(spawnSync('git', args, { cwd: folder }).status).toBe(0);
}

describe('a call right after a commit, before the watch has told of it', () => {
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
    ['a create of what was deleted', app('gone'), null, 'POST', 'apps/gone', { body: image }, 200],
  ] as const)('%s knows what was committed', async (_, file, committed, method, path, options, status) => {
    commitAtOnce(manager().repository, file, committed);
    const reply = await manager().request(method, `/api/v2/${path}`, options);
    expect(reply.status, reply.text).toBe(status);
  });
});
