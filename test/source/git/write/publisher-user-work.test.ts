import { createHash } from 'node:crypto';
import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CheckoutSource, openCheckout } from '../../../../src/source/git/checkout.ts';
import { openObjects } from '../../../../src/source/git/read/objects.ts';
import { writtenFiles } from '../../../../src/source/git/work-tree/work-tree.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../../../support/git.ts';
import { contextAt, draftOf, MACHINE, openSource, publishOne } from '../support.ts';

const FILES = { 'ds/apps/web.yaml': 'a\n', 'ds/apps/cron.yaml': 'c\n', 'else.txt': 'e\n' };

async function start() {
  const repository = await testRepository();
  const base = await repository.commit(FILES);
  return { repository, base, source: await openSource(join(repository.folder, 'ds')) };
}

/** Everything that a refused write must leave as it was: files, index, refs of people. */
async function stateOf({ folder, git }: TestRepository): Promise<Record<string, string>> {
  const files = (await git('ls-files', '-z', '--cached', '--others')).split('\0').filter(Boolean);
  const hashes = files.map(async (path) => {
    const bytes = await readFile(join(folder, path)).catch(async () =>
      readlink(join(folder, path)).catch(() => 'gone'),
    );
    return [path, createHash('sha1').update(bytes).digest('hex')] as const;
  });
  return {
    ...Object.fromEntries(await Promise.all(hashes)),
    index: await git('ls-files', '--stage'),
    head: await git('rev-parse', 'HEAD'),
    status: await git('status', '--porcelain', '--untracked-files=all'),
  };
}

const write = (repository: TestRepository, path: string, text: string): Promise<void> =>
  writeFiles(repository.folder, { [path]: text });

/** What a person does, and a write that meets it; `dirty` are the paths that it names, all of its own unless given. */
type Row = [
  name: string,
  edits: Readonly<Record<string, string | null>>,
  work: (person: TestRepository) => Promise<unknown>,
  dirty?: string[],
];

const CHANGE = { 'apps/web.yaml': 'b\n' };
const NEW = { 'apps/new.yaml': 'n\n' };
const CRON = { 'apps/cron.yaml': 'x\n' };
const WEB = ['apps/web.yaml'];

const editWeb = (person: TestRepository) => write(person, 'ds/apps/web.yaml', 'mine');
const makeNew = (person: TestRepository) => write(person, 'ds/apps/new.yaml', 'mine');
const deleteWeb = ({ folder }: TestRepository) => rm(join(folder, 'ds/apps/web.yaml'));
const stage = ({ git }: TestRepository) => git('add', '.');

const ROWS: readonly Row[] = [
  ['edited', CHANGE, editWeb],
  ['edited to the same size', CHANGE, (person) => write(person, 'ds/apps/web.yaml', 'x\n')],
  ['staged', CHANGE, (person) => editWeb(person).then(() => stage(person))],
  [
    'staged and edited again',
    CHANGE,
    async (person) => {
      await editWeb(person);
      await stage(person);
      await write(person, 'ds/apps/web.yaml', 'mine too');
    },
  ],
  ['staged as deleted', CHANGE, ({ git }) => git('rm', '--quiet', 'ds/apps/web.yaml')],
  ['deleted', CHANGE, deleteWeb],
  ['edited, and the write deletes it', { 'apps/web.yaml': null }, editWeb],
  ['new and untracked', NEW, makeNew],
  [
    'new, untracked and ignored',
    NEW,
    (person) => makeNew(person).then(() => write(person, '.git/info/exclude', '*.yaml\n')),
  ],
  ['new and staged', NEW, (person) => makeNew(person).then(() => stage(person))],
  ['an untracked folder in its place', NEW, (person) => write(person, 'ds/apps/new.yaml/inner', 'mine')],
  [
    'an untracked file where its folder goes',
    { 'apps/team/new.yaml': 'n\n' },
    (person) => write(person, 'ds/apps/team', 'mine'),
  ],
  [
    'an ignored file where its folder goes',
    { 'apps/team/new.yaml': 'n\n' },
    (person) =>
      write(person, 'ds/apps/team', 'mine').then(() => write(person, '.git/info/exclude', 'team\n')),
  ],
  [
    'replaced by a symlink',
    CHANGE,
    (person) => deleteWeb(person).then(() => symlink('cron.yaml', join(person.folder, 'ds/apps/web.yaml'))),
  ],
  [
    'replaced by a folder',
    CHANGE,
    (person) => deleteWeb(person).then(() => write(person, 'ds/apps/web.yaml/inner', 'mine')),
  ],
  ['one of two files edited', { ...CRON, ...CHANGE }, editWeb, WEB],
  [
    'one of two files staged, and the other one to be deleted',
    { 'apps/cron.yaml': null, ...CHANGE },
    (person) => editWeb(person).then(() => stage(person)),
    WEB,
  ],
  [
    'edited where it is to be deleted, and another one is to be changed',
    { ...CRON, 'apps/web.yaml': null },
    editWeb,
    WEB,
  ],
  ['one of two files deleted', { ...CRON, ...CHANGE }, deleteWeb, WEB],
  ['one of two files new and untracked', { ...CHANGE, ...NEW }, makeNew, ['apps/new.yaml']],
  [
    'an untracked file where the folder of one of two goes',
    { ...CHANGE, 'apps/team/new.yaml': 'n\n' },
    (person) => write(person, 'ds/apps/team', 'mine'),
    ['apps/team/new.yaml'],
  ],
];

describe('work of a person on the very file', () => {
  it.each(ROWS)('(%s) makes the write a conflict that names it, and changes nothing', async (...row) => {
    const [, edits, work, dirty = Object.keys(edits)] = row;
    const { repository, base, source } = await start();
    await work(repository);
    const before = await stateOf(repository);
    await expect(publishOne(source, edits)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(`^${dirty.join(', ')}: `),
      details: { paths: dirty },
    });
    expect(await stateOf(repository)).toEqual(before);
    expect(before['head']).toBe(base);
  });

  it('in the place of the folder, a symlink, is neither followed nor lost', async () => {
    const { repository, source } = await start();
    const outside = await temporaryFolder();
    await writeFiles(outside, { 'web.yaml': 'a\n', 'cron.yaml': 'c\n' });
    await rm(join(repository.folder, 'ds/apps'), { recursive: true });
    await symlink(outside, join(repository.folder, 'ds/apps'));
    const outcome = await publishOne(source, { 'apps/web.yaml': 'b\n', 'apps/new.yaml': 'n' }).catch(
      (error: unknown) => error,
    );
    expect(outcome).toMatchObject({ kind: 'conflict' });
    expect(await readFile(join(outside, 'web.yaml'), 'utf8')).toBe('a\n');
    expect(await readlink(join(repository.folder, 'ds/apps'))).toBe(outside);
  });
});

describe('a folder that a person moved, with a link in its place', () => {
  it.each([
    { name: 'changes', edits: { 'apps/web.yaml': 'b\n' } },
    { name: 'removes', edits: { 'apps/web.yaml': null } },
    { name: 'makes', edits: { 'apps/new.yaml': 'n\n' } },
  ])('is neither replaced nor followed by a write that $name a file in it', async ({ edits }) => {
    const { repository, base, source } = await start();
    const outside = join(await temporaryFolder(), 'apps');
    await rename(join(repository.folder, 'ds/apps'), outside);
    await symlink(outside, join(repository.folder, 'ds/apps'));
    const [path = ''] = Object.keys(edits);
    await expect(publishOne(source, edits as Record<string, string | null>)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining(path),
      details: { paths: [path] },
    });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await readlink(join(repository.folder, 'ds/apps'))).toBe(outside);
    expect((await readdir(outside)).sort()).toEqual(['cron.yaml', 'web.yaml']);
    expect(await readFile(join(outside, 'web.yaml'), 'utf8')).toBe('a\n');
  });
});

describe('a rebase that is not finished', () => {
  it.each([
    { name: 'by merges', options: ['--merge'], isLinked: false },
    { name: 'by patches', options: ['--apply'], isLinked: false },
    { name: 'in another work tree', options: ['--merge'], isLinked: true },
  ])(
    '$name, of the branch that the manager follows, makes the write a conflict',
    async ({ options, isLinked }) => {
      const { repository } = await start();
      await repository.git('branch', 'side');
      await repository.commit({ 'else.txt': 'main' });
      await repository.git('switch', '--quiet', 'side');
      await repository.commit({ 'else.txt': 'side' });
      const linked = join(await temporaryFolder(), 'linked');
      if (isLinked) await repository.git('worktree', 'add', '--quiet', linked, 'main');
      else await repository.git('switch', '--quiet', 'main');
      const person = isLinked ? repositoryAt(linked) : repository;
      await expect(person.git('rebase', ...options, 'side')).rejects.toThrow();
      const source = await openSource(join(repository.folder, 'ds'), 'main');
      await expect(publishOne(source, { 'apps/web.yaml': 'b\n' })).rejects.toMatchObject({
        kind: 'conflict',
        message: expect.stringMatching(/main is being rebased/),
      });
      await person.git('rebase', '--skip');
      await person.git('switch', '--quiet', '--detach');
      await publishOne(source, { 'apps/web.yaml': 'b\n' });
      expect(await repository.git('log', '-1', '--format=%an', 'main')).toBe('Olga');
    },
  );
});

describe('a merge that is not finished', () => {
  it('makes the write a conflict that says so, and changes nothing', async () => {
    const { repository, source } = await start();
    await repository.git('switch', '--quiet', '-c', 'side');
    await repository.commit({ 'else.txt': 'side' });
    await repository.git('switch', '--quiet', 'main');
    await repository.commit({ 'else.txt': 'main' });
    await expect(repository.git('merge', 'side')).rejects.toThrow();
    const before = await stateOf(repository);
    await expect(publishOne(source, { 'apps/web.yaml': 'b\n' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/merge/),
    });
    expect(await stateOf(repository)).toEqual(before);
    await repository.git('merge', '--abort');
    await publishOne(source, { 'apps/web.yaml': 'b\n' });
  });

  it('is not what a stash is called that left conflicts, for there is nothing to abort', async () => {
    const { repository, source } = await start();
    await write(repository, 'else.txt', 'mine');
    await repository.git('stash');
    await repository.commit({ 'else.txt': 'main' });
    await expect(repository.git('stash', 'pop')).rejects.toThrow();
    await expect(publishOne(source, { 'apps/web.yaml': 'b\n' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/conflicts .*stash.*; resolve and stage them/),
    });
    await repository.git('add', 'else.txt');
    await publishOne(source, { 'apps/web.yaml': 'b\n' });
    expect(await repository.git('status', '--porcelain')).toBe('M  else.txt');
  });
});

describe('work of a person on other files', () => {
  it('stays byte for byte, on the disk and in the index', async () => {
    const { repository, source } = await start();
    await write(repository, 'ds/apps/cron.yaml', 'staged');
    await write(repository, 'staged-new.txt', 'new');
    await repository.git('add', '.');
    await write(repository, 'ds/apps/cron.yaml', 'and edited');
    await write(repository, 'else.txt', 'edited');
    await write(repository, 'ds/apps/untracked.yaml', 'untracked');
    await mkdir(join(repository.folder, 'ds/empty'));
    const before = await stateOf(repository);
    const id = await publishOne(source, { 'apps/web.yaml': 'b\n', 'apps/new/x.yaml': 'x\n' });
    const after = await stateOf(repository);
    expect(after['head']).toBe(id);
    expect(after['status']).toBe(before['status']);
    for (const path of ['ds/apps/cron.yaml', 'staged-new.txt', 'else.txt', 'ds/apps/untracked.yaml'])
      expect(after[path]).toBe(before[path]);
    expect(await repository.show('ds/apps/cron.yaml', '')).toBe('staged');
    expect(await repository.git('show', '--stat', '--format=')).not.toContain('cron');
  });

  it('is what it was after any mixture of work and writes', async () => {
    const paths = ['ds/apps/web.yaml', 'ds/apps/cron.yaml', 'else.txt', 'ds/apps/n.yaml'] as const;
    const step = fc.record({
      path: fc.constantFrom(...paths),
      kind: fc.constantFrom('edit', 'stage', 'publish', 'publish', 'commit'),
      text: fc.integer({ min: 0, max: 3 }).map((number) => `text ${number}\n`),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 8 }), async (steps) => {
        const { repository, source } = await start();
        for (const { path, kind, text } of steps) await act(repository, source, path, kind, text);
      }),
      { numRuns: 12 },
    );
  });
});

/** One thing that a person or the manager does; a write either lands whole or changes nothing. */
async function act(
  repository: TestRepository,
  source: CheckoutSource,
  path: string,
  kind: string,
  text: string,
) {
  if (kind === 'edit') await write(repository, path, text);
  if (kind === 'stage') {
    await write(repository, path, text);
    await repository.git('add', path);
  }
  if (kind === 'commit') await repository.git('commit', '--quiet', '--allow-empty', '-m', 'person');
  if (kind !== 'publish' || !path.startsWith('ds/')) return;
  const edited = path.slice(3);
  const before = await stateOf(repository);
  const outcome = await source.publisher
    .publish(await source.reader.head(), [draftOf({ [edited]: text })])
    .then(
      () => 'published',
      (error: { kind: string }) => error.kind,
    );
  const after = await stateOf(repository);
  const others = (state: Record<string, string>): Record<string, string | undefined> => ({
    ...state,
    [path]: undefined,
    index: undefined,
    head: undefined,
    status: state['status']
      ?.split('\n')
      .filter((line) => !line.endsWith(path))
      .join('\n'),
  });
  expect(others(after)).toEqual(others(before));
  if (outcome === 'published') expect(await repository.show(path)).toBe(text);
  else expect([outcome, after]).toEqual(['conflict', before]);
}

describe('work of a person that begins while the commit is made', () => {
  it.each([
    {
      name: 'a file that git ignores, where one is to be made',
      edits: { 'apps/new.yaml': 'ours\n' },
      work: (folder: string) => writeFileSync(join(folder, 'ds/apps/new.yaml'), 'mine'),
    },
    {
      name: 'a file that is deleted',
      edits: { 'apps/web.yaml': 'b\n' },
      work: (folder: string) => rmSync(join(folder, 'ds/apps/web.yaml')),
    },
    {
      name: 'a folder that becomes a link',
      edits: { 'apps/web.yaml': 'b\n' },
      work: (folder: string) => {
        renameSync(join(folder, 'ds/apps'), join(folder, 'away'));
        symlinkSync('../away', join(folder, 'ds/apps'));
      },
    },
  ])('is a conflict, and stays: $name', async ({ edits, work }) => {
    const repository = await testRepository();
    const base = await repository.commit({ ...FILES, '.gitignore': 'new.yaml\naway\n' });
    const states: Promise<Record<string, string>>[] = [];
    const pass = (point: string): void => {
      if (point !== 'commit-written') return;
      work(repository.folder);
      states.push(stateOf(repository));
    };
    const source = await openCheckout(join(repository.folder, 'ds'), null, MACHINE, { faults: { pass } });
    onTestFinished(() => source.close());
    const head = await source.reader.head();
    await expect(source.publisher.publish(head, [draftOf(edits)])).rejects.toMatchObject({
      kind: 'conflict',
      details: { paths: Object.keys(edits) },
    });
    expect(await stateOf(repository)).toEqual(await states[0]);
    expect(await repository.git('rev-parse', 'main')).toBe(base);
  });
});

it('asks git once about a folder of which a write changes many files', async () => {
  const repository = await testRepository();
  const paths = Array.from({ length: 100 }, (_, index) => `groups/g${index}.yaml`);
  const base = await repository.commit(Object.fromEntries(paths.map((path) => [`ds/${path}`, 'a\n'])));
  const source = await openSource(join(repository.folder, 'ds'));
  const objects = openObjects(contextAt(repository.folder));
  onTestFinished(() => objects.close());
  const asked: string[] = [];
  const info = (expression: string) => {
    asked.push(expression);
    return objects.info(expression);
  };
  const edits = [...paths, 'groups/new.yaml', 'apps/one.yaml'].map((path) => ({ path, text: 'b\n' }));
  const checkout = { repository: source.repository, objects: { ...objects, info } };
  const written = await writtenFiles(checkout, base, edits);
  expect(asked).toEqual([`${base}:ds/groups`, `${base}:ds/apps/one.yaml`]);
  expect([...written.values()].filter(Boolean)).toHaveLength(100);
  const head = await source.reader.head();
  const draft = { ...draftOf({}), edits };
  await rm(join(repository.folder, 'ds/groups/g7.yaml'));
  await expect(source.publisher.publish(head, [draft])).rejects.toMatchObject({
    kind: 'conflict',
    details: { paths: ['groups/g7.yaml'] },
  });
  await write(repository, 'ds/groups/new.yaml', 'mine');
  await expect(source.publisher.publish(head, [draft])).rejects.toMatchObject({
    kind: 'conflict',
    details: { paths: ['groups/new.yaml', 'groups/g7.yaml'] },
  });
});
