import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { removeFailedWriter } from '../../../../src/source/git/mirror/leftovers.ts';
import { createMaintenance } from '../../../../src/source/git/mirror/maintenance.ts';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { runGit } from '../../../../src/source/git/process/run.ts';
import {
  findRepository,
  type Machine,
  type Repository,
} from '../../../../src/source/git/repository/repository.ts';
import { openCommitWriter } from '../../../../src/source/git/write/commit-writer.ts';
import { writeFiles } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { contextAt, draftOf, MACHINE, machineWith } from '../support.ts';

/** Seconds. */
const DAY = 24 * 60 * 60;

/** The paths of all packs, or of files with another ending in their folder. */
async function packFiles({ folder }: TestRepository, ending = '.pack'): Promise<string[]> {
  const packs = join(folder, '.git/objects/pack');
  return (await readdir(packs)).filter((name) => name.endsWith(ending)).map((name) => join(packs, name));
}

/** Makes files look as if they were written so many seconds ago. */
async function age(paths: readonly string[], seconds: number): Promise<void> {
  const then = Date.now() / 1000 - seconds;
  await Promise.all(paths.map((path) => utimes(path, then, then)));
}

/**
 * Makes versions like those of the record of ids: commits without parents, each in a pack of its own. A ref names the last
 * one. One process makes all of them, since `checkpoint` begins a new pack. Resolves to their ids.
 */
async function makeVersions(repository: TestRepository, texts: readonly string[]): Promise<string[]> {
  const commits = texts.map(
    (text) =>
      `reset refs/holdfast/recording\n\ncommit refs/holdfast/recording\nmark :1\n` +
      `committer H <h@h> 1700000000 +0000\ndata 7\nRecord\nM 100644 inline ids\ndata ${text.length}\n${text}\n\n` +
      `get-mark :1\ncheckpoint\n`,
  );
  const ids = await runGit(contextAt(repository.folder), commands.fastImport(), `${commits.join('')}done\n`);
  return ids.trim().split('\n');
}

/** Texts of versions, enough of them to make a clean-up due. */
function numbered(what: string, count = 60): string[] {
  return Array.from({ length: count }, (_, index) => `${what} ${index}`);
}

/** Opens the maintenance of a mirror; the returned function runs a clean-up. */
async function openMaintenance(
  repository: TestRepository,
  machine: Machine = MACHINE,
  now: () => number = Date.now,
): Promise<() => Promise<void>> {
  const found = (await findRepository(repository.folder, machine)) as Repository;
  const maintenance = createMaintenance(found, async () => undefined, now);
  onTestFinished(maintenance.close);
  return maintenance.run;
}

async function hasObject(repository: TestRepository, id: string): Promise<boolean> {
  return repository.git('cat-file', '-e', id).then(
    () => true,
    () => false,
  );
}

/** A git that has no cruft packs yet. */
const olderGit = (): Promise<Machine> => machineWith('case "$*" in *--cruft*) exit 129;; esac');

const UNREACHABLE_VERSIONS: readonly {
  name: string;
  days: number;
  stays: boolean;
  file?: readonly [string, string];
  machine?: () => Promise<Machine>;
}[] = [
  { name: 'are dropped after two days', days: 2, stays: false },
  { name: 'stay on their first day', days: 0.1, stays: true },
  {
    name: 'stay while another process has marked a pack as in use',
    days: 21,
    stays: true,
    file: ['.git/objects/pack/pack-1.keep', 'fetch-pack 1 on elsewhere\n'],
  },
  { name: 'stay if git is too old for cruft packs', days: 21, stays: true, machine: olderGit },
];

describe('unreachable versions of the record of ids', () => {
  it.each(UNREACHABLE_VERSIONS.map((row) => [row.name, row] as const))(
    '%s; all other objects stay',
    async (_, { days, stays, file, machine }) => {
      const repository = await testRepository();
      await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
      const thrownAway = await repository.commit({ 'ds/apps/web.yaml': 'b\n' });
      await repository.git('reset', '--hard', '--quiet', 'HEAD^');
      await repository.git('repack', '-a', '-d', '--quiet');
      if (file !== undefined) await writeFiles(repository.folder, Object.fromEntries([file]));
      const made = await makeVersions(repository, numbered('version'));
      const [old = '', tagged = ''] = made;
      await repository.git('tag', 'kept', tagged);
      await age(await packFiles(repository), days * DAY);
      await (await openMaintenance(repository, await machine?.()))();
      expect(await hasObject(repository, old)).toBe(stays);
      for (const id of [thrownAway, tagged, made.at(-1) as string])
        expect(await hasObject(repository, id)).toBe(true);
      expect((await packFiles(repository)).length).toBeLessThan(4);
      expect(await repository.git('fsck', '--no-dangling')).toBe('');
    },
  );

  it('are searched for at most once a day', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    let time = Date.now();
    const run = await openMaintenance(repository, MACHINE, () => time);
    await makeVersions(repository, numbered('first'));
    await run();
    const [old = ''] = await makeVersions(repository, numbered('second'));
    await age(await packFiles(repository), 2 * DAY);
    await run();
    expect(await hasObject(repository, old)).toBe(true);
    await makeVersions(repository, numbered('third'));
    await age(await packFiles(repository), 2 * DAY);
    time += DAY * 1000;
    await run();
    expect(await hasObject(repository, old)).toBe(false);
  });
});

/** A git that cannot write a pack as large as all the others together, and leaves behind what it has written of it. */
const gitWithoutSpace = (): Promise<Machine> => machineWith('case "$*" in *repack*) ulimit -f 1;; esac');

describe('a clean-up', () => {
  it('removes what it has written, and no other file, if there is too little space', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    const made = await makeVersions(repository, numbered('version'));
    const before = await packFiles(repository, '');
    const unfinished = join(repository.folder, '.git/objects/pack/tmp_pack_others');
    await writeFile(unfinished, 'PACK');
    // In the future, so that it stays too young to have been left behind.
    await age([unfinished], -DAY);
    await (await openMaintenance(repository, await gitWithoutSpace()))();
    expect((await packFiles(repository, '')).sort()).toEqual([...before, unfinished].sort());
    for (const id of made) expect(await hasObject(repository, id)).toBe(true);
  });

  it('keeps the keep marks of the running commit writer, even if there is too little space', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    await makeVersions(repository, numbered('version'));
    const writer = openCommitWriter((await findRepository(repository.folder, MACHINE)) as Repository, () =>
      removeFailedWriter(join(repository.folder, '.git')),
    );
    onTestFinished(writer.close);
    await writer.write(await repository.git('rev-parse', 'HEAD'), [draftOf({ 'apps/web.yaml': 'b\n' })]);
    const keepMarks = await packFiles(repository, '.keep');
    expect(keepMarks).toHaveLength(1);
    await (await openMaintenance(repository, await gitWithoutSpace()))();
    expect(await packFiles(repository, '.keep')).toEqual(keepMarks);
  });

  it('keeps an unfinished pack that an unseen process began in the meantime, if it succeeds', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    await makeVersions(repository, numbered('version'));
    const unfinished = join(repository.folder, '.git/objects/pack/tmp_pack_others');
    const machine = await machineWith(
      `case "$*" in *repack*) touch -d '1 minute ago' '${unfinished}';; esac`,
    );
    await (await openMaintenance(repository, machine))();
    expect((await packFiles(repository)).length).toBeLessThan(5);
    expect(await packFiles(repository, '_others')).toEqual([unfinished]);
  });
});
