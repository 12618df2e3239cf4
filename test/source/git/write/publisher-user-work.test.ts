import { renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CloneSource } from '../../../../src/source/git/clone/clone.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { faultsAt, openSource, publishOne, write } from '../support.ts';
import { FILES, start, stateOf } from './user-work.ts';

/** The edits of a write, the work that it meets, and the paths that conflict: all that it edits, unless given. */
type Row = [
  name: string,
  edits: Readonly<Record<string, string | null>>,
  work: (repository: TestRepository) => Promise<unknown>,
  dirty?: string[],
];

const CHANGE = { 'apps/web.yaml': 'b\n' };
const NEW = { 'apps/new.yaml': 'n\n' };
const CRON = { 'apps/cron.yaml': 'x\n' };
const WEB = ['apps/web.yaml'];

const editWeb = (repository: TestRepository) => write(repository, 'ds/apps/web.yaml', 'mine');
const makeNew = (repository: TestRepository) => write(repository, 'ds/apps/new.yaml', 'mine');
const deleteWeb = ({ folder }: TestRepository) => rm(join(folder, 'ds/apps/web.yaml'));
const stage = ({ git }: TestRepository) => git('add', '.');

const ROWS: readonly Row[] = [
  ['edited', CHANGE, editWeb],
  ['edited to the same size', CHANGE, (repository) => write(repository, 'ds/apps/web.yaml', 'x\n')],
  ['staged', CHANGE, (repository) => editWeb(repository).then(() => stage(repository))],
  [
    'staged and edited again',
    CHANGE,
    async (repository) => {
      await editWeb(repository);
      await stage(repository);
      await write(repository, 'ds/apps/web.yaml', 'mine too');
    },
  ],
  ['staged as deleted', CHANGE, ({ git }) => git('rm', '--quiet', 'ds/apps/web.yaml')],
  ['deleted', CHANGE, deleteWeb],
  ['edited, while the write deletes it', { 'apps/web.yaml': null }, editWeb],
  ['new and untracked', NEW, makeNew],
  [
    'new, untracked and ignored',
    NEW,
    (repository) => makeNew(repository).then(() => write(repository, '.git/info/exclude', '*.yaml\n')),
  ],
  ['new and staged', NEW, (repository) => makeNew(repository).then(() => stage(repository))],
  [
    'an untracked folder at the path of the new file',
    NEW,
    (repository) => write(repository, 'ds/apps/new.yaml/inner', 'mine'),
  ],
  [
    'an untracked file at the path of its folder',
    { 'apps/team/new.yaml': 'n\n' },
    (repository) => write(repository, 'ds/apps/team', 'mine'),
  ],
  [
    'an ignored file at the path of its folder',
    { 'apps/team/new.yaml': 'n\n' },
    (repository) =>
      write(repository, 'ds/apps/team', 'mine').then(() => write(repository, '.git/info/exclude', 'team\n')),
  ],
  [
    'replaced by a symlink',
    CHANGE,
    (repository) =>
      deleteWeb(repository).then(() => symlink('cron.yaml', join(repository.folder, 'ds/apps/web.yaml'))),
  ],
  [
    'replaced by a folder',
    CHANGE,
    (repository) => deleteWeb(repository).then(() => write(repository, 'ds/apps/web.yaml/inner', 'mine')),
  ],
  ['one of two files edited', { ...CRON, ...CHANGE }, editWeb, WEB],
  [
    'one of two files staged, while the write deletes the other',
    { 'apps/cron.yaml': null, ...CHANGE },
    (repository) => editWeb(repository).then(() => stage(repository)),
    WEB,
  ],
  ['one of two files edited, while the write deletes it', { ...CRON, 'apps/web.yaml': null }, editWeb, WEB],
  ['one of two files deleted', { ...CRON, ...CHANGE }, deleteWeb, WEB],
  ['one of two files new and untracked', { ...CHANGE, ...NEW }, makeNew, ['apps/new.yaml']],
  [
    'an untracked file at the path of the folder of one of two files',
    { ...CHANGE, 'apps/team/new.yaml': 'n\n' },
    (repository) => write(repository, 'ds/apps/team', 'mine'),
    ['apps/team/new.yaml'],
  ],
];

describe("a user's work on a file of the write", () => {
  it.each(ROWS)('makes the write a conflict that names the file and changes nothing (%s)', async (...row) => {
    const [, edits, work, names = Object.keys(edits)] = row;
    const dirty = names.map((path) => `ds/${path}`);
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

  it('that replaced the folder by a symlink makes the write a conflict, and the link is not followed', async () => {
    const { repository, source } = await start();
    const outside = await temporaryFolder();
    await writeFiles(outside, { 'web.yaml': 'a\n', 'cron.yaml': 'c\n' });
    await rm(join(repository.folder, 'ds/apps'), { recursive: true });
    await symlink(outside, join(repository.folder, 'ds/apps'));
    const edits = { 'apps/web.yaml': 'b\n', 'apps/new.yaml': 'n' };
    await expect(publishOne(source, edits)).rejects.toMatchObject({ kind: 'conflict' });
    expect((await readdir(outside)).sort()).toEqual(['cron.yaml', 'web.yaml']);
    expect(await readFile(join(outside, 'web.yaml'), 'utf8')).toBe('a\n');
    expect(await readlink(join(repository.folder, 'ds/apps'))).toBe(outside);
  });
});

describe('a folder that a user moved, leaving a symlink in its place', () => {
  it.each([
    ['changes', { 'apps/web.yaml': 'b\n' }],
    ['removes', { 'apps/web.yaml': null }],
    ['creates', { 'apps/new.yaml': 'n\n' }],
  ])(
    'makes a write that %s a file in it a conflict, and is neither replaced nor followed',
    async (_, edits) => {
      const { repository, base, source } = await start();
      const outside = join(await temporaryFolder(), 'apps');
      await rename(join(repository.folder, 'ds/apps'), outside);
      await symlink(outside, join(repository.folder, 'ds/apps'));
      const [path = ''] = Object.keys(edits);
      await expect(publishOne(source, edits as Record<string, string | null>)).rejects.toMatchObject({
        kind: 'conflict',
        message: expect.stringContaining(path),
        details: { paths: [`ds/${path}`] },
      });
      expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
      expect(await readlink(join(repository.folder, 'ds/apps'))).toBe(outside);
      expect((await readdir(outside)).sort()).toEqual(['cron.yaml', 'web.yaml']);
      expect(await readFile(join(outside, 'web.yaml'), 'utf8')).toBe('a\n');
    },
  );
});

describe("a user's work on other files", () => {
  it('stays byte for byte on the disk and in the index', async () => {
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

  it('stays as it was after any sequence of edits, commits and writes', async () => {
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

/** One step of a user or the manager. A write must be published completely, or be a conflict and change nothing. */
async function act(
  repository: TestRepository,
  source: CloneSource,
  path: string,
  kind: string,
  text: string,
) {
  if (kind === 'edit') await write(repository, path, text);
  if (kind === 'stage') {
    await write(repository, path, text);
    await repository.git('add', path);
  }
  if (kind === 'commit') await repository.git('commit', '--quiet', '--allow-empty', '-m', 'mine');
  if (kind !== 'publish' || !path.startsWith('ds/')) return;
  const edited = path.slice(3);
  const before = await stateOf(repository);
  const outcome = await publishOne(source, { [edited]: text }).then(
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

describe("a user's work that begins after the write has checked for it", () => {
  it.each([
    [
      'an ignored file where the new one goes',
      { 'apps/new.yaml': 'ours\n' },
      (folder: string) => writeFileSync(join(folder, 'ds/apps/new.yaml'), 'mine'),
    ],
    [
      'a deleted file',
      { 'apps/web.yaml': 'b\n' },
      (folder: string) => rmSync(join(folder, 'ds/apps/web.yaml')),
    ],
    [
      'a symlink in the place of the folder',
      { 'apps/web.yaml': 'b\n' },
      (folder: string) => {
        renameSync(join(folder, 'ds/apps'), join(folder, 'away'));
        symlinkSync('../away', join(folder, 'ds/apps'));
      },
    ],
  ])('makes the write a conflict and stays (%s)', async (_, edits, work) => {
    const repository = await testRepository();
    const base = await repository.commit({ ...FILES, '.gitignore': 'new.yaml\naway\n' });
    const states: Promise<Record<string, string>>[] = [];
    const faults = faultsAt('commit-written', () => {
      work(repository.folder);
      states.push(stateOf(repository));
    });
    const source = await openSource(join(repository.folder, 'ds'), null, { faults });
    await expect(publishOne(source, edits)).rejects.toMatchObject({
      kind: 'conflict',
      details: { paths: Object.keys(edits).map((path) => `ds/${path}`) },
    });
    expect(await stateOf(repository)).toEqual(await states[0]);
    expect(await repository.git('rev-parse', 'main')).toBe(base);
  });
});
