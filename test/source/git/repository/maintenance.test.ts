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
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { contextAt, draftOf, MACHINE } from '../support.ts';

const DAY = 24 * 60 * 60;

async function packsOf({ folder }: TestRepository, ending = '.pack'): Promise<string[]> {
  const packs = join(folder, '.git/objects/pack');
  return (await readdir(packs)).filter((name) => name.endsWith(ending)).map((name) => join(packs, name));
}

/** Files that look as if they were written so many seconds ago. */
async function age(paths: readonly string[], seconds: number): Promise<void> {
  const then = Date.now() / 1000 - seconds;
  await Promise.all(paths.map((path) => utimes(path, then, then)));
}

/**
 * Makes versions as those of the record of ids are: commits without parents, each in a pack; the ref names the last one.
 * One process makes all of them, since `checkpoint` begins a new pack.
 */
async function versions(repository: TestRepository, texts: readonly string[]): Promise<string[]> {
  const commits = texts.map(
    (text) =>
      `reset refs/holdfast/recording\n\ncommit refs/holdfast/recording\nmark :1\n` +
      `committer H <h@h> 1700000000 +0000\ndata 7\nRecord\nM 100644 inline ids\ndata ${text.length}\n${text}\n\n` +
      `get-mark :1\ncheckpoint\n`,
  );
  const said = await runGit(contextAt(repository.folder), commands.fastImport(), `${commits.join('')}done\n`);
  return said.trim().split('\n');
}

function numbered(what: string, count = 60): string[] {
  return Array.from({ length: count }, (_, index) => `${what} ${index}`);
}

/** How the manager cleans up where people work, and where nobody else does. */
const PLACES = { clone: commands.repackReached(), mirror: commands.repackReachedOfDay() } as const;

async function maintain(
  repository: TestRepository,
  place: keyof typeof PLACES,
  machine: Machine = MACHINE,
): Promise<() => Promise<void>> {
  const found = await findRepository(repository.folder, machine);
  const maintenance = createMaintenance(found as NonNullable<typeof found>, {
    command: PLACES[place],
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

/** A git that knows no packs of what nothing reaches. */
async function olderGit(): Promise<Machine> {
  const folder = await temporaryFolder();
  const path = process.env['PATH'];
  const script = `#!/bin/sh\ncase "$*" in *--cruft*) exit 129;; esac\nPATH='${path}' exec git "$@"\n`;
  await writeFile(join(folder, 'git'), script, { mode: 0o755 });
  return { ...MACHINE, env: { PATH: `${folder}:${path}` } };
}

const OLD_VERSIONS: readonly {
  name: string;
  place: keyof typeof PLACES;
  days: number;
  stays: boolean;
  setting?: readonly [string, string];
  file?: readonly [string, string];
  machine?: () => Promise<Machine>;
}[] = [
  { name: 'of three weeks ago go from a clone', place: 'clone', days: 21, stays: false },
  { name: 'of a week ago stay in a clone', place: 'clone', days: 7, stays: true },
  { name: 'of two days ago go from the mirror', place: 'mirror', days: 2, stays: false },
  { name: 'of this day stay in the mirror', place: 'mirror', days: 0.1, stays: true },
  {
    name: 'stay where the repository says how long to keep things',
    place: 'clone',
    days: 21,
    stays: true,
    setting: ['gc.pruneExpire', 'never'],
  },
  {
    name: 'stay where the repository wants no clean-up unasked',
    place: 'clone',
    days: 21,
    stays: true,
    setting: ['gc.auto', '0'],
  },
  {
    name: 'stay where the repository wants no maintenance unasked',
    place: 'clone',
    days: 21,
    stays: true,
    setting: ['maintenance.auto', 'false'],
  },
  {
    name: 'stay where grafts reach things',
    place: 'clone',
    days: 21,
    stays: true,
    file: ['.git/info/grafts', ''],
  },
  {
    name: 'stay while somebody has marked a pack as in use',
    place: 'clone',
    days: 21,
    stays: true,
    file: ['.git/objects/pack/pack-1.keep', 'fetch-pack 1 on elsewhere\n'],
  },
  { name: 'stay with an older git', place: 'clone', days: 21, stays: true, machine: olderGit },
];

describe('versions of the record that nothing names any more', () => {
  it.each(OLD_VERSIONS)(
    '$name, and all else stays',
    async ({ place, days, stays, setting, file, machine }) => {
      const repository = await testRepository();
      await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
      const thrownAway = await repository.commit({ 'ds/apps/web.yaml': 'b\n' });
      await repository.git('reset', '--hard', '--quiet', 'HEAD^');
      await repository.git('repack', '-a', '-d', '--quiet');
      if (setting !== undefined) await repository.git('config', ...setting);
      if (file !== undefined) await writeFiles(repository.folder, Object.fromEntries([file]));
      const made = await versions(repository, numbered('version'));
      const [old = '', tagged = ''] = made;
      await repository.git('tag', 'kept', tagged);
      await age(await packsOf(repository), days * DAY);
      await (await maintain(repository, place, await machine?.()))();
      expect(await hasObject(repository, old)).toBe(stays);
      for (const id of [thrownAway, tagged, made.at(-1) as string])
        expect(await hasObject(repository, id)).toBe(true);
      expect((await packsOf(repository)).length).toBeLessThan(4);
      expect(await repository.git('fsck', '--no-dangling')).toBe('');
    },
  );

  it.each([
    { graph: 'one file', args: [] },
    { graph: 'a chain of files', args: ['--split'] },
  ])('go from the commit-graph of people, too: $graph', async ({ args }) => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    const [old = ''] = await versions(repository, ['of the day of a git gc']);
    await repository.git('commit-graph', 'write', '--reachable', ...args);
    await versions(repository, numbered('version'));
    await age(await packsOf(repository), 21 * DAY);
    await (await maintain(repository, 'clone'))();
    expect(await hasObject(repository, old)).toBe(false);
    expect(await repository.git('fsck', '--no-dangling')).toBe('');
    await repository.git('commit-graph', 'verify');
  });

  it('are looked for once a day at the most', async () => {
    const repository = await testRepository();
    await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
    const run = await maintain(repository, 'mirror');
    await versions(repository, numbered('first'));
    await run();
    const [old = ''] = await versions(repository, numbered('second'));
    await age(await packsOf(repository), 2 * DAY);
    await run();
    expect(await hasObject(repository, old)).toBe(true);
    await versions(repository, numbered('third', 80));
    await age(await packsOf(repository), 2 * DAY);
    await age(await packsOf(repository, '.mtimes'), 2 * DAY);
    await run();
    expect(await hasObject(repository, old)).toBe(false);
  });
});

/** A git that cannot write as much as the packs together have: what it begins of a new one stays. */
async function gitWithoutRoom(): Promise<Machine> {
  const folder = await temporaryFolder();
  const path = process.env['PATH'];
  const script = `#!/bin/sh\ncase "$*" in *repack*) ulimit -f 1;; esac\nPATH='${path}' exec git "$@"\n`;
  await writeFile(join(folder, 'git'), script, { mode: 0o755 });
  return { ...MACHINE, env: { PATH: `${folder}:${path}` } };
}

it('a clean-up for which there is no room gives back what it took, and leaves what there was', async () => {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
  const made = await versions(repository, numbered('version'));
  const before = await packsOf(repository, '');
  const others = join(repository.folder, '.git/objects/pack/tmp_pack_others');
  await writeFile(others, 'PACK');
  await age([others], -DAY);
  await (await maintain(repository, 'clone', await gitWithoutRoom()))();
  expect((await packsOf(repository, '')).sort()).toEqual([...before, others].sort());
  for (const id of made) expect(await hasObject(repository, id)).toBe(true);
});

it('a clean-up for which there is no room leaves what marks the packs of a writer of this manager', async () => {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
  await versions(repository, numbered('version'));
  const writer = openCommitWriter((await findRepository(repository.folder, MACHINE)) as Repository);
  onTestFinished(writer.close);
  await writer.write(await repository.git('rev-parse', 'HEAD'), [draftOf({ 'apps/web.yaml': 'b\n' })]);
  const marks = await packsOf(repository, '.keep');
  expect(marks).toHaveLength(1);
  await (await maintain(repository, 'clone', await gitWithoutRoom()))();
  expect(await packsOf(repository, '.keep')).toEqual(marks);
});

it.each(['repack.writeBitmaps', 'pack.writeBitmaps'])('packs are joined where %s is set', async (setting) => {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
  await repository.git('repack', '-a', '-d', '--quiet');
  await repository.git('config', setting, 'true');
  // Nothing is dropped there, so the packs are joined one by one.
  await repository.git('config', 'gc.auto', '0');
  await versions(repository, numbered('version'));
  await (await maintain(repository, 'clone'))();
  expect((await packsOf(repository)).length).toBeLessThan(5);
});

it('a clean-up that goes well leaves a half of a pack that somebody out of sight has begun meanwhile', async () => {
  const repository = await testRepository();
  await repository.commit({ 'ds/apps/web.yaml': 'a\n' });
  await versions(repository, numbered('version'));
  const half = join(repository.folder, '.git/objects/pack/tmp_pack_others');
  const [folder, path] = [await temporaryFolder(), process.env['PATH']];
  const begins = `case "$*" in *repack*) touch -d '1 minute ago' '${half}';; esac`;
  await writeFile(join(folder, 'git'), `#!/bin/sh\n${begins}\nPATH='${path}' exec git "$@"\n`, {
    mode: 0o755,
  });
  await (await maintain(repository, 'clone', { ...MACHINE, env: { PATH: `${folder}:${path}` } }))();
  expect((await packsOf(repository)).length).toBeLessThan(5);
  expect(await packsOf(repository, '_others')).toEqual([half]);
});
