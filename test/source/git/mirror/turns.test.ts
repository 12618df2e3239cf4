import { readdir, readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createTurns } from '../../../../src/source/git/mirror/turns.ts';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { runGit } from '../../../../src/source/git/process/run.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { testRepository } from '../../../support/git.ts';
import { contextAt, MACHINE, machineWith, repositoryOf } from '../support.ts';

/** Milliseconds. */
const DAY = 24 * 60 * 60_000;
const SLOW = { timeout: 60_000 };

/**
 * A repository with so many packs that git joins them, each of a version of the record: a commit without parents, of which
 * a ref names the last. `days` is their age.
 */
async function withVersions(days: number) {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
  const made = Array.from({ length: 60 }, (_, index) =>
    [
      'reset refs/holdfast/recording\n\ncommit refs/holdfast/recording\nmark :1',
      'committer H <h@h> 1700000000 +0000\ndata 7\nRecord',
      `M 100644 inline ids\ndata 2\n${10 + index}\n\nget-mark :1\ncheckpoint\n`,
    ].join('\n'),
  );
  const ids = await runGit(contextAt(repository.folder), commands.fastImport(), `${made.join('')}done\n`);
  const packs = join(repository.folder, '.git/objects/pack');
  const then = (Date.now() - days * DAY) / 1000;
  for (const name of await readdir(packs)) await utimes(join(packs, name), then, then);
  const count = async () => (await readdir(packs)).filter((name) => name.endsWith('.pack')).length;
  return { repository, ids: ids.trim().split('\n'), count };
}

it.each([
  ['drops versions of the record that have been unreachable for three weeks', 21, false],
  ['keeps versions that have been unreachable for three days', 3, true],
])('after a turn, a clean-up joins packs and %s', async (_, days, stays) => {
  const { repository, ids, count } = await withVersions(days);
  const found = repositoryOf(repository.folder);
  const turns = createTurns(found);
  onTestFinished(turns.endCleanUp);
  await turns.run(() => undefined);
  await expect.poll(count, SLOW).toBeLessThan(4);
  await turns.run(() => undefined);
  const has = (id: string) =>
    repository.git('cat-file', '-e', id).then(
      () => true,
      () => false,
    );
  expect(await has(ids[0] as string)).toBe(stays);
  expect(await has(ids.at(-1) as string)).toBe(true);
  expect(await repository.git('fsck', '--no-dangling')).toBe('');
});

it('a turn begins once a running clean-up is done, or was ended', async () => {
  const log = join(await temporaryFolder(), 'log');
  const { env } = await machineWith(
    `case "$1" in gc) trap "echo ended >> '${log}'; exit 143" TERM; echo started >> '${log}'; sleep 600 & wait;; esac`,
  );
  const { context, ...found } = repositoryOf((await testRepository()).folder);
  const path = env['PATH'] ?? MACHINE.env['PATH'] ?? '';
  const turns = createTurns({ ...found, context: { ...context, env: { ...context.env, PATH: path } } });
  onTestFinished(turns.endCleanUp);
  const logged = () => readFile(log, 'utf8').catch(() => '');
  await turns.run(() => undefined);
  await expect.poll(logged, SLOW).toBe('started\n');
  const next = turns.run(logged);
  await turns.endCleanUp();
  expect(await next).toBe('started\nended\n');
});
