import { execFileSync } from 'node:child_process';
import { chmodSync, lstatSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { faultsAt, machineWith, openSource, publishOne, write } from '../support.ts';
import { FILES, stateOf } from './user-work.ts';

const WEB = 'ds/apps/web.yaml';
const WRITE = { 'apps/web.yaml': 'b\n' };

/** A repository with FILES that this function has changed. */
async function repositoryWith(change: Change = async () => undefined): Promise<TestRepository> {
  const repository = await testRepository();
  await repository.commit(FILES);
  await change(repository);
  return repository;
}

type Change = (repository: TestRepository) => Promise<unknown>;

interface Row {
  name: string;
  change?: Change;
  edits?: Record<string, string | null>;
}

/** A source whose git notes its commands. `commands` returns those that look at the index or change it, since the last call. */
async function openNoting({ folder }: TestRepository) {
  const log = join(await temporaryFolder(), 'commands');
  const machine = await machineWith(`echo "$1" >> '${log}'`);
  const source = await openSource(join(folder, 'ds'), null, { machine });
  const commands = async (): Promise<string[]> => {
    const names = (await readFile(log, 'utf8')).split('\n');
    await writeFile(log, '');
    return names.filter((name) => /^(diff-index|ls-files|apply|read-tree)$/.test(name));
  };
  return { source, commands };
}

describe('a write to a checkout', () => {
  it.each<[string, Row]>(
    (
      [
        { name: 'a file that nobody has changed' },
        { name: 'two such files', edits: { ...WRITE, 'apps/cron.yaml': 'd\n' } },
        {
          name: 'files that attributes give another form on disk',
          change: async (repository) => {
            await repository.commit({ '.gitattributes': '*.yaml text eol=crlf\n' });
            await rm(join(repository.folder, WEB));
            await repository.git('checkout', '--', WEB);
          },
        },
        {
          name: 'a file beside changed and new ones that are not staged',
          change: async (repository) => {
            await write(repository, 'ds/apps/cron.yaml', 'changed\n');
            await write(repository, 'ds/apps/new.yaml', 'new\n');
          },
        },
        {
          name: 'files with odd names',
          change: (repository) => repository.commit({ 'ds/apps/größe.yaml': 'a\n', 'ds/-a "b".yaml': 'a\n' }),
          edits: { 'apps/größe.yaml': 'b\n', '-a "b".yaml': 'b\n' },
        },
      ] as Row[]
    ).map((row) => [row.name, row]),
  )('patches %s without a comparison of trees', async (_, { change, edits }) => {
    const { source, commands } = await openNoting(await repositoryWith(change));
    await publishOne(source, edits ?? WRITE);
    expect(await commands()).toEqual(['diff-index', 'ls-files', 'apply']);
  });

  it.each<[string, Row]>(
    (
      [
        { name: 'new files', edits: { 'apps/new.yaml': 'n\n' } },
        { name: 'deleted files', edits: { 'apps/web.yaml': null } },
        { name: 'a deleted file beside a changed one', edits: { ...WRITE, 'apps/cron.yaml': null } },
        { name: 'files that were touched', change: ({ folder }) => utimes(join(folder, WEB), 1, 1) },
        {
          name: 'files with a line break in the name',
          change: (repository) => repository.commit({ 'ds/apps/a\nb.yaml': 'a\n' }),
          edits: { 'apps/a\nb.yaml': 'b\n' },
        },
        {
          name: 'files while a setting stops git from patching',
          change: ({ git }) => git('config', 'merge.conflictStyle', 'of-a-later-git'),
        },
        {
          name: 'files that are to be added',
          change: async ({ git, commit }) => {
            await commit({ [WEB]: '' });
            await git('rm', '--quiet', '--cached', 'ds/apps/cron.yaml');
            await git('add', '--intent-to-add', 'ds/apps/cron.yaml');
          },
        },
        {
          name: 'files beside one that may be executed',
          change: async ({ folder, git }) => {
            chmodSync(join(folder, 'ds/apps/cron.yaml'), 0o755);
            await git('commit', '--quiet', '--all', '--message', 'mode');
          },
        },
        {
          name: 'files beside staged ones',
          change: async (repository) => {
            await write(repository, 'else.txt', 'staged');
            await repository.git('add', 'else.txt');
          },
        },
        {
          name: 'files that a sparse checkout leaves out',
          change: async ({ git }) => {
            await git('sparse-checkout', 'set', '--no-cone', '/else.txt', '/ds/apps/cron.yaml');
          },
        },
        {
          name: 'files that are marked to be left alone',
          change: ({ git }) => git('update-index', '--skip-worktree', WEB),
        },
      ] as Row[]
    ).map((row) => [row.name, row]),
  )('leaves %s to git', async (_, { change, edits }) => {
    const { source, commands } = await openNoting(await repositoryWith(change));
    await publishOne(source, edits ?? WRITE);
    expect((await commands()).at(-1)).toBe('read-tree');
  });

  it('looks at the index again only after someone else has changed it', async () => {
    const repository = await repositoryWith();
    const { source, commands } = await openNoting(repository);
    const writeAnd = async (edits: Readonly<Record<string, string | null>>): Promise<string[]> => {
      await publishOne(source, edits);
      return commands();
    };
    expect(await writeAnd({ 'apps/web.yaml': '1\n' })).toEqual(['diff-index', 'ls-files', 'apply']);
    expect(await writeAnd({ 'apps/web.yaml': '2\n' })).toEqual(['apply']);
    expect(await writeAnd({ 'apps/new.yaml': '1\n' })).toEqual(['read-tree']);
    expect(await writeAnd({ 'apps/new.yaml': '2\n' })).toEqual(['apply']);
    await repository.commit({ 'else.txt': 'committed' });
    expect(await writeAnd({ 'apps/web.yaml': '3\n' })).toEqual(['diff-index', 'ls-files', 'apply']);
    await write(repository, 'else.txt', 'staged');
    await repository.git('add', 'else.txt');
    expect(await writeAnd({ 'apps/web.yaml': '4\n' })).toEqual(['diff-index', 'read-tree']);
    expect(await repository.git('status', '--porcelain')).toBe('M  else.txt');
  });
});

const CHANGES: readonly { name: string; change(repository: TestRepository): void }[] = [
  { name: 'to the file', change: ({ folder }) => writeFileSync(join(folder, WEB), 'x\n') },
  { name: 'of its mode', change: ({ folder }) => chmodSync(join(folder, WEB), 0o755) },
  { name: 'that deletes it', change: ({ folder }) => rmSync(join(folder, WEB)) },
  {
    name: 'that makes it a link to a file with the same content',
    change: ({ folder }) => {
      writeFileSync(join(folder, 'copy'), 'a\n');
      rmSync(join(folder, WEB));
      symlinkSync('../../copy', join(folder, WEB));
    },
  },
  {
    name: 'that makes it a pipe',
    change: ({ folder }) => {
      rmSync(join(folder, WEB));
      execFileSync('mkfifo', [join(folder, WEB)]);
    },
  },
  {
    name: 'that stages other content and restores the file',
    change: ({ folder }) => {
      writeFileSync(join(folder, WEB), 'x\n');
      execFileSync('git', ['add', WEB], { cwd: folder });
      writeFileSync(join(folder, WEB), 'a\n');
    },
  },
  {
    name: 'that stages another mode and restores the file',
    change: ({ folder }) => {
      execFileSync('git', ['update-index', '--chmod=+x', WEB], { cwd: folder });
    },
  },
];

describe.each(['before', 'after'])("a user's change %s a write has looked its file up", (when) => {
  it.each(CHANGES.map((row) => [row.name, row] as const))(
    '%s makes the write a conflict that changes nothing',
    async (_, { change }) => {
      const repository = await repositoryWith();
      let before: Record<string, unknown> | null = null;
      const changeOnce = (): void => {
        if (before !== null) return;
        change(repository);
        before = indexAndFile(repository);
      };
      if (when === 'before') changeOnce();
      const faults = faultsAt('commit-written', changeOnce);
      const source = await openSource(join(repository.folder, 'ds'), null, { faults });
      await expect(publishOne(source, WRITE)).rejects.toMatchObject({
        kind: 'conflict',
        details: { paths: ['apps/web.yaml'] },
      });
      expect(indexAndFile(repository)).toEqual(before);
      expect(await source.recover()).toBeNull();
    },
  );
});

describe('a change by a user while git starts to patch', () => {
  it.each([
    ['of the file', `printf mine > ${WEB}`, `cat ${WEB}`],
    ['that makes it a folder', `rm ${WEB}; mkdir ${WEB}; printf mine > ${WEB}/inner`, `cat ${WEB}/inner`],
    [
      'that makes it a link',
      `printf mine > copy; rm ${WEB}; ln -s ../../copy ${WEB}`,
      `cat $(readlink -f ${WEB})`,
    ],
  ])('%s is kept, and makes the write a conflict', async (_, change, show) => {
    const repository = await repositoryWith();
    const machine = await machineWith(`[ "$1" != apply ] || { ${change}; }`);
    const source = await openSource(join(repository.folder, 'ds'), null, { machine });
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({
      kind: 'conflict',
      details: { paths: ['apps/web.yaml'] },
    });
    expect(execFileSync('sh', ['-c', show], { cwd: repository.folder, encoding: 'utf8' })).toBe('mine');
    expect(await repository.git('diff', '--cached', '--name-only')).toBe('');
    expect(await source.recover()).toBeNull();
  });

  it('is kept, too, if the patch was applied and is tried again, since the shell was killed', async () => {
    const repository = await repositoryWith();
    const machine = await machineWith(`if [ "$1" = apply ] && [ ! -e .git/again ]; then
      touch .git/again
      git "$@"
      printf mine > ${WEB}
      kill -9 $PPID
      exit 1
    fi`);
    const source = await openSource(join(repository.folder, 'ds'), null, { machine });
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({ kind: 'conflict' });
    expect(readFileSync(join(repository.folder, WEB), 'utf8')).toBe('mine');
    expect(await repository.git('status', '--porcelain')).toBe(` M ${WEB}`);
    expect(await source.recover()).toBeNull();
  });
});

describe('a git that fails while it replaces a file', () => {
  it('makes the write fail, and leaves file and index as they were', async () => {
    const repository = await repositoryWith();
    const machine = await machineWith(`if [ "$1" = apply ]; then
      printf b > ${WEB}
      echo "error: unable to write file ${WEB}: No space left on device" >&2
      exit 1
    fi`);
    const source = await openSource(join(repository.folder, 'ds'), null, { machine });
    const before = await stateOf(repository);
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/disk|space/),
    });
    expect(await stateOf(repository)).toEqual(before);
    expect(await source.recover()).toBeNull();
  });
});

/** The index entries of a repository, and what is at the path of WEB. */
function indexAndFile({ folder }: TestRepository): Record<string, unknown> {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
  const found = lstatSync(join(folder, WEB), { throwIfNoEntry: false });
  return {
    index: git('ls-files', '--stage'),
    mode: found?.mode,
    content: found?.isFile() === true ? readFileSync(join(folder, WEB), 'utf8') : null,
  };
}
