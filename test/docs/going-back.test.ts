import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import {
  dateCommit,
  initRepository,
  type TestRepository,
  testRepository,
  USER_ENVIRONMENT,
} from '../support/git.ts';
import { PROJECT } from '../support/project.ts';

const execute = promisify(execFile);
const APP = 'desired-state/apps/shop/storefront.yaml';
const GROUP = 'desired-state/device-groups/stores.yaml';
const ADDED = 'desired-state/apps/added.yaml';

/** A clone with a commit of two days ago and one of now, both pushed to its origin. */
async function fleetOfTwoDays(): Promise<TestRepository> {
  const origin = await temporaryFolder();
  await initRepository(origin, true);
  const fleet = await testRepository();
  await fleet.git('remote', 'add', 'origin', origin);
  await fleet.commit({ [APP]: 'container_image: shop:1\n', [GROUP]: 'apps: [storefront]\n' });
  await dateCommit(fleet, Date.now() - 2 * 86_400_000);
  await fleet.commit({
    [APP]: 'container_image: shop:2\n',
    [GROUP]: 'apps: [storefront, added]\n',
    [ADDED]: 'container_image: added:1\n',
  });
  await fleet.git('push', '--quiet', '--set-upstream', 'origin', 'main');
  return fleet;
}

/** Runs the commands of the recipe but the one that `leftOut` matches; resolves to what they print. */
async function goBack(fleet: TestRepository, leftOut: RegExp): Promise<string> {
  const text = await readFile(join(PROJECT, 'docs/operations.md'), 'utf8');
  const [, recipe = ''] = /\n## Going back\n.*?```sh\n(.*?)```/s.exec(text) ?? [];
  const lines = recipe.split('\n').filter((line) => !leftOut.test(line));
  expect(lines.length).toBe(recipe.split('\n').length - 1);
  const bin = await temporaryFolder();
  await writeFile(
    join(bin, 'holdfast'),
    `#!/bin/sh\nexec '${process.execPath}' '${PROJECT}/dist/main.js' "$@"\n`,
  );
  await chmod(join(bin, 'holdfast'), 0o755);
  const env = { ...USER_ENVIRONMENT, PATH: `${bin}:${process.env['PATH']}` };
  return (await execute('sh', ['-euc', lines.join('\n')], { cwd: fleet.folder, env })).stdout;
}

describe('the commands of "Going back" in docs/operations.md', () => {
  it('bring back one app as it was yesterday, and push that', async () => {
    const fleet = await fleetOfTwoDays();
    expect(await goBack(fleet, /worktree desired-state$/)).toContain('storefront');
    expect(await fleet.show(APP, 'origin/main')).toBe('container_image: shop:1\n');
    expect(await fleet.show(GROUP, 'origin/main')).toBe('apps: [storefront, added]\n');
  });

  it('bring back everything as it was yesterday, without what was added since', async () => {
    const fleet = await fleetOfTwoDays();
    expect(await goBack(fleet, /storefront\.yaml$/)).toContain('added');
    expect(await fleet.show(APP, 'origin/main')).toBe('container_image: shop:1\n');
    const files = await fleet.git('ls-tree', '-r', '--name-only', 'origin/main');
    expect(files.split('\n')).toEqual([APP, GROUP]);
  });
});
