import { execFile } from 'node:child_process';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import {
  dateCommit,
  initRepository,
  type TestRepository,
  testRepository,
  USER_ENVIRONMENT,
} from '../support/git.ts';
import { PROJECT } from '../support/project.ts';

const execute = promisify(execFile);
const APP = 'apps/web.yaml';
const GROUP = 'device-groups/edge.yaml';
const ADDED = 'apps/added.yaml';
const OLD = { [APP]: 'container_image: web:1\n', [GROUP]: 'apps: [web]\n' };
const NEW = {
  [APP]: 'container_image: web:2\n',
  [GROUP]: 'apps: [web, added]\n',
  [ADDED]: 'container_image: added:1\n',
};

/** A clone with a commit of two days ago, which is `v1.4`, and one of now, both pushed to its origin. */
async function fleetOfTwoDays(): Promise<TestRepository> {
  const origin = await temporaryFolder();
  await initRepository(origin, true);
  const fleet = await testRepository();
  await fleet.git('remote', 'add', 'origin', origin);
  await fleet.commit(inDesiredState(OLD));
  await dateCommit(fleet, Date.now() - 2 * 86_400_000);
  await fleet.git('tag', 'v1.4');
  await fleet.commit(inDesiredState(NEW));
  await fleet.git('push', '--quiet', '--set-upstream', 'origin', 'main');
  return fleet;
}

/** The two blocks of commands in a clone: one recipe, and lines of which each is one by itself. */
async function shownCommands(): Promise<{ recipe: string; others: string[] }> {
  const text = await readFile(join(PROJECT, 'docs/history.md'), 'utf8');
  const [, recipe = '', others = ''] =
    /\n## Going back\n.*?```sh\n(.*?)```.*?```sh\n(.*?)```/s.exec(text) ?? [];
  return { recipe, others: others.trim().split('\n') };
}

/** Runs commands of the page as a user does, who has `holdfast` on the PATH. */
async function runShown(fleet: TestRepository, commands: string): Promise<string> {
  const bin = await temporaryFolder();
  await writeFile(
    join(bin, 'holdfast'),
    `#!/bin/sh\nexec '${process.execPath}' '${PROJECT}/dist/main.js' "$@"\n`,
  );
  await chmod(join(bin, 'holdfast'), 0o755);
  const env = { ...USER_ENVIRONMENT, PATH: `${bin}:${process.env['PATH']}` };
  const script = commands.replaceAll('9c41e07', await fleet.git('rev-parse', 'HEAD'));
  return (await execute('sh', ['-euc', script], { cwd: fleet.folder, env })).stdout;
}

/** What the files of a fleet have; null for one that is not there. */
async function textsOf({ folder }: TestRepository): Promise<Record<string, string | null>> {
  const read = (path: string) => readFile(join(folder, 'desired-state', path), 'utf8').catch(() => null);
  return Object.fromEntries(
    await Promise.all([APP, GROUP, ADDED].map(async (path) => [path, await read(path)] as const)),
  );
}

describe('the commands of "Going back" in docs/history.md', () => {
  it('bring back one app as it was yesterday, and push that', async () => {
    const fleet = await fleetOfTwoDays();
    const { recipe } = await shownCommands();
    expect(await runShown(fleet, recipe)).toContain('web restarts on edge');
    expect(await textsOf(fleet)).toEqual({ ...NEW, [APP]: OLD[APP] });
    expect(await fleet.git('rev-parse', 'origin/main')).toBe(await fleet.git('rev-parse', 'HEAD'));
    expect(await fleet.git('log', '-1', '--format=%B')).toContain('500s since 1.5');
  });

  it.each([
    ['a commit', '--undo', { ...OLD, [ADDED]: null }],
    ['several objects', 'app/web', { ...OLD, [ADDED]: NEW[ADDED] }],
    ['a device group with its apps', '--group', { ...OLD, [ADDED]: NEW[ADDED] }],
    ['the whole fleet', '--all', { ...OLD, [ADDED]: null }],
  ])('take back %s', async (_what, option, files) => {
    const { others } = await shownCommands();
    expect(others.length).toBe(4);
    const fleet = await fleetOfTwoDays();
    await runShown(fleet, others.find((line) => line.startsWith(`holdfast rollback ${option}`)) ?? 'false');
    expect(await textsOf(fleet)).toEqual(files);
    expect(await fleet.git('rev-parse', 'HEAD')).toBe(await fleet.git('rev-parse', 'origin/main'));
  });
});
