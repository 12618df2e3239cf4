import { readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { runGit } from '../../../../src/source/git/process/run.ts';
import { createMaintenance } from '../../../../src/source/git/repository/maintenance.ts';
import {
  findRepository,
  type Machine,
  type Repository,
} from '../../../../src/source/git/repository/repository.ts';
import { openCommitWriter } from '../../../../src/source/git/write/commit-writer.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../../../support/git.ts';
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

/** The command that drops unreachable objects from a clone of a user, and from the mirror, which only managers use. */
const DROPS = { clone: commands.repackReached(), mirror: commands.repackReachedOfDay() } as const;

/** Opens the maintenance of a repository; the returned function runs a clean-up. */
async function openMaintenance(
  repository: TestRepository,
  kind: keyof typeof DROPS,
  machine: Machine = MACHINE,
): Promise<() => Promise<void>> {
  const found = (await findRepository(repository.folder, machine)) as Repository;
  const maintenance = createMaintenance(found, {
    command: DROPS[kind],
    closeWriters: async () => undefined,
  });
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
  kind: keyof typeof DROPS;
  days: number;
  stays: boolean;
  setting?: readonly [string, string];
  file?: readonly [string, string];
  machine?: () => Promise<Machine>;
}[] = [
  { name: 'are dropped from a clone after three weeks', kind: 'clone', days: 21, stays: false },
  { name: 'stay in a clone for a week', kind: 'clone', days: 7, stays: true },
  { name: 'are dropped from the mirror after two days', kind: 'mirror', days: 2, stays: false },
  { name: 'stay in the mirror on their first day', kind: 'mirror', days: 0.1, stays: true },
  {
    name: 'stay if the repository itself sets how long unreachable objects are kept',
    kind: 'clone',
    days: 21,
    stays: true,
    setting: ['gc.pruneExpire', 'never'],
  },
  {
    name: 'stay if the repository switches automatic gc off',
    kind: 'clone',
    days: 21,
    stays: true,
    setting: ['gc.auto', '0'],
  },
  {
    name: 'stay if the repository switches automatic maintenance off',
    kind: 'clone',
    days: 21,
    stays: true,
    setting: ['maintenance.auto', 'false'],
  },
  {
    name: 'stay if the repository has grafts, through which more can be reachable',
    kind: 'clone',
    days: 21,
    stays: true,
    file: ['.git/info/grafts', ''],
  },
  {
    name: 'stay while another process has marked a pack as in use',
    kind: 'clone',
    days: 21,
    stays: true,
    file: ['.git/objects/pack/pack-1.keep', 'fetch-pack 1 on elsewhere\n'],
  },
  { name: 'stay if git is too old for cruft packs', kind: 'clone', days: 21, stays: true, machine: olderGit },
];

describe('unreachable versions of the record of ids', () => {
  it.each(UNREACHABLE_VERSIONS.map((row) => [row.name, row] as const))(
    '%s; all other objects stay',
    async (_, { kind, days, stays, setting, file, machine }) => {
      const repository = await testRepository();
      await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
      const thrownAway = await repository.commit({ 'ds/apps/web.yaml': 'b\n' });
      await repository.git('reset', '--hard', '--quiet', 'HEAD^');
      await repository.git('repack', '-a', '-d', '--quiet');
      if (setting !== undefined) await repository.git('config', ...setting);
      if (file !== undefined) await writeFiles(repository.folder, Object.fromEntries([file]));
      const made = await makeVersions(repository, numbered('version'));
      const [old = '', tagged = ''] = made;
      await repository.git('tag', 'kept', tagged);
      await age(await packFiles(repository), days * DAY);
      await (await openMaintenance(repository, kind, await machine?.()))();
      expect(await hasObject(repository, old)).toBe(stays);
      for (const id of [thrownAway, tagged, made.at(-1) as string])
        expect(await hasObject(repository, id)).toBe(true);
      expect((await packFiles(repository)).length).toBeLessThan(4);
      expect(await repository.git('fsck', '--no-dangling')).toBe('');
    },
  );

  it.each([
    ['one file', []],
    ['a chain of files', ['--split']],
  ])('are also dropped from a commit-graph that a user has written as %s', async (_, args) => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    const [old = ''] = await makeVersions(repository, ['before the commit-graph']);
    await repository.git('commit-graph', 'write', '--reachable', ...args);
    await makeVersions(repository, numbered('version'));
    await age(await packFiles(repository), 21 * DAY);
    await (await openMaintenance(repository, 'clone'))();
    expect(await hasObject(repository, old)).toBe(false);
    expect(await repository.git('fsck', '--no-dangling')).toBe('');
    await repository.git('commit-graph', 'verify');
  });

  it('are searched for at most once a day', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    const run = await openMaintenance(repository, 'mirror');
    await makeVersions(repository, numbered('first'));
    await run();
    const [old = ''] = await makeVersions(repository, numbered('second'));
    await age(await packFiles(repository), 2 * DAY);
    await run();
    expect(await hasObject(repository, old)).toBe(true);
    await makeVersions(repository, numbered('third', 80));
    await age(await packFiles(repository), 2 * DAY);
    await age(await packFiles(repository, '.mtimes'), 2 * DAY);
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
    await (await openMaintenance(repository, 'clone', await gitWithoutSpace()))();
    expect((await packFiles(repository, '')).sort()).toEqual([...before, unfinished].sort());
    for (const id of made) expect(await hasObject(repository, id)).toBe(true);
  });

  it('keeps the keep marks of the running commit writer, even if there is too little space', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    await makeVersions(repository, numbered('version'));
    const writer = openCommitWriter((await findRepository(repository.folder, MACHINE)) as Repository);
    onTestFinished(writer.close);
    await writer.write(await repository.git('rev-parse', 'HEAD'), [draftOf({ 'apps/web.yaml': 'b\n' })]);
    const keepMarks = await packFiles(repository, '.keep');
    expect(keepMarks).toHaveLength(1);
    await (await openMaintenance(repository, 'clone', await gitWithoutSpace()))();
    expect(await packFiles(repository, '.keep')).toEqual(keepMarks);
  });

  it.each(['repack.writeBitmaps', 'pack.writeBitmaps'])(
    'joins packs even if the repository sets %s',
    async (setting) => {
      const repository = await testRepository();
      await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
      await repository.git('repack', '-a', '-d', '--quiet');
      await repository.git('config', setting, 'true');
      // Then no objects are dropped, and the packs are joined geometrically.
      await repository.git('config', 'gc.auto', '0');
      await makeVersions(repository, numbered('version'));
      await (await openMaintenance(repository, 'clone'))();
      expect((await packFiles(repository)).length).toBeLessThan(5);
    },
  );

  it('does not copy the objects that a clone borrows from another repository', async () => {
    const lender = await testRepository();
    const borrowed = await lender.commit({ 'ds/apps/web.yaml': 'a\n' });
    const clone = repositoryAt(join(await temporaryFolder(), 'clone'));
    await lender.git('clone', '--quiet', '--shared', lender.folder, clone.folder);
    const [old = ''] = await makeVersions(clone, numbered('version'));
    await age(await packFiles(clone), 21 * DAY);
    await (await openMaintenance(clone, 'clone'))();
    expect(await hasObject(clone, old)).toBe(false);
    const packed = await Promise.all(
      (await packFiles(clone, '.idx')).map((path) => clone.git('verify-pack', '--verbose', path)),
    );
    expect(packed.join('\n')).not.toContain(borrowed);
  });

  it('keeps an unfinished pack that an unseen process began in the meantime, if it succeeds', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    await makeVersions(repository, numbered('version'));
    const unfinished = join(repository.folder, '.git/objects/pack/tmp_pack_others');
    const machine = await machineWith(
      `case "$*" in *repack*) touch -d '1 minute ago' '${unfinished}';; esac`,
    );
    await (await openMaintenance(repository, 'clone', machine))();
    expect((await packFiles(repository)).length).toBeLessThan(5);
    expect(await packFiles(repository, '_others')).toEqual([unfinished]);
  });
});
