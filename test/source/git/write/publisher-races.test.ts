import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { CheckoutSource } from '../../../../src/source/git/checkout.ts';
import type { Head } from '../../../../src/source/source.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { faultsAt, machineWith, openSource, publishOne, read, status } from '../support.ts';

const FILES = { 'ds/apps/web.yaml': 'a\n', 'else.txt': 'e\n' };
const OTHERS = { 'ds/apps/web.yaml': 'a\n', 'else.txt': 'other\n' };
const WRITE = { 'apps/web.yaml': 'b\n', 'apps/new.yaml': 'n\n' };

const dsOf = ({ folder }: TestRepository): string => join(folder, 'ds');

/** Two branches that differ outside of the folder; `main` is checked out. */
async function twoBranches() {
  const repository = await testRepository();
  const base = await repository.commit(FILES);
  await repository.git('switch', '--quiet', '-c', 'other');
  const other = await repository.commit(OTHERS);
  await repository.git('switch', '--quiet', 'main');
  return { repository, base, other };
}

/** Runs git synchronously, so that nothing else happens meanwhile; returns its exit code. */
function gitNow({ folder }: TestRepository, ...args: string[]): number | null {
  return spawnSync('git', args, { cwd: folder, env: { PATH: process.env['PATH'], HOME: '/nonexistent' } })
    .status;
}

/** Begins a user's switch of branches, which holds the lock of the index until `finish` is called. */
async function slowSwitch(repository: TestRepository, branch: string) {
  const folder = await temporaryFolder();
  const held = join(folder, 'held');
  const slow = join(folder, 'slow');
  const script = `#!/bin/sh\n: > "${held}"\nwhile [ -e "${held}" ]; do sleep 0.05; done\ncat\n`;
  await writeFile(slow, script, { mode: 0o755 });
  await writeFile(join(repository.folder, '.git/info/attributes'), 'else.txt filter=slow\n');
  const ended = repository.git('-c', `filter.slow.smudge=${slow}`, 'checkout', '--quiet', branch);
  await expect.poll(() => existsSync(held), { timeout: 60_000 }).toBe(true);
  return {
    finish: async () => {
      await rm(held);
      await ended;
    },
  };
}

/** A source, and a promise that resolves when a write has checked everything and is about to lock the index. */
async function sourceBeforeLock(repository: TestRepository, branch: string | null = null) {
  let arrive: () => void = () => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const source = await openSource(dsOf(repository), branch, { faults: faultsAt('commit-written', arrive) });
  return { source, arrived };
}

describe('a user who switches branches during a write', () => {
  it('slowly, away from its branch, makes it reject as moved-on, and neither branch changes', async () => {
    const { repository, base, other } = await twoBranches();
    const { source, arrived } = await sourceBeforeLock(repository);
    const head = await source.reader.head();
    const slow = await slowSwitch(repository, 'other');
    const write = publishOne(source, WRITE, head).catch((error: unknown) => error);
    await arrived;
    await slow.finish();
    expect(await write).toMatchObject({ kind: 'moved-on' });
    expect(await repository.git('rev-parse', 'main', 'other')).toBe(`${base}\n${other}`);
    expect(await status(repository)).toBe('');
    expect(await source.recover()).toBeNull();
  });

  it('slowly, to its branch, makes it reject as moved-on; repeated, it changes the work tree too', async () => {
    const { repository } = await twoBranches();
    await repository.git('checkout', '--quiet', 'other');
    const { source, arrived } = await sourceBeforeLock(repository, 'main');
    const head = await source.reader.head();
    const slow = await slowSwitch(repository, 'main');
    const write = publishOne(source, WRITE, head).catch((error: unknown) => error);
    await arrived;
    await slow.finish();
    expect(await write).toMatchObject({ kind: 'moved-on' });
    const id = await publishOne(source, WRITE);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'b\n']);
  });

  it('to its branch, while the work trees are listed, makes it reject as moved-on', async () => {
    const { repository, base } = await twoBranches();
    await repository.git('checkout', '--quiet', 'other');
    const machine = await machineWith('[ "$1" != worktree ] || env -i PATH="$PATH" git switch -q main');
    const source = await openSource(dsOf(repository), 'main', { machine });
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({ kind: 'moved-on' });
    expect(await repository.git('rev-parse', 'main')).toBe(base);
    const id = await publishOne(source, WRITE);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect(await status(repository)).toBe('');
  });

  // From here on only HEAD moves during the write, without the lock of the index, as at the end of a switch.
  it('away from its branch, once the note is written, makes it reject as moved-on and leave nothing', async () => {
    const { repository, base } = await twoBranches();
    const source = await openSource(dsOf(repository), null, {
      faults: faultsAt('switch-noted', () => gitNow(repository, 'symbolic-ref', 'HEAD', 'refs/heads/other')),
    });
    await repository.git('read-tree', '-u', '-m', 'main', 'other');
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({ kind: 'moved-on' });
    expect(await repository.git('symbolic-ref', 'HEAD')).toBe('refs/heads/other');
    expect(await repository.git('rev-parse', 'main')).toBe(base);
    expect(await status(repository)).toBe('');
  });

  it('away from its branch, once the tree is switched, has it published there and not left in the tree', async () => {
    const { repository, base } = await twoBranches();
    const source = await openSource(dsOf(repository), null, {
      faults: faultsAt('tree-switched', () => gitNow(repository, 'symbolic-ref', 'HEAD', 'refs/heads/other')),
    });
    await repository.git('read-tree', '-u', '-m', 'main', 'other');
    const id = await publishOne(source, WRITE);
    expect(await repository.git('rev-parse', 'main', 'main^')).toBe(`${id}\n${base}`);
    expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'a\n']);
    expect(await source.recover()).toBeNull();
  });

  it('to its branch, just before that moves, finds the write in index and files', async () => {
    const { repository } = await twoBranches();
    await repository.git('symbolic-ref', 'HEAD', 'refs/heads/other');
    const source = await openSource(dsOf(repository), 'main', { faults: switchToMain(repository) });
    const id = await publishOne(source, WRITE);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'b\n']);
  });

  it('to its branch, just before that moves, with work on its file: the write is a conflict, and the branch goes back', async () => {
    const { repository, base } = await twoBranches();
    await repository.git('symbolic-ref', 'HEAD', 'refs/heads/other');
    await writeFile(join(repository.folder, 'ds/apps/web.yaml'), 'mine\n');
    const source = await openSource(dsOf(repository), 'main', { faults: switchToMain(repository) });
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await status(repository)).toBe('M ds/apps/web.yaml'.padStart(19));
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('mine\n');
  });

  it.each([
    ['an ignored file in the place of its new one', 'ds/apps/new.yaml', 'mine\n', 'mine\n'],
    ['its file deleted', 'ds/apps/web.yaml', null, null],
  ])('to its branch, just before that moves, with %s: the same', async (_name, path, text, left) => {
    const { repository, base } = await twoBranches();
    await repository.git('symbolic-ref', 'HEAD', 'refs/heads/other');
    await writeFile(join(repository.folder, '.git/info/exclude'), 'new.yaml\n');
    const file = join(repository.folder, path);
    await (text === null ? rm(file) : writeFile(file, text));
    const source = await openSource(dsOf(repository), 'main', { faults: switchToMain(repository) });
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await read(repository, path)).toBe(left);
    expect(await source.recover()).toBeNull();
  });

  it('to its branch, just before that moves, while git fails makes it fail: branch and index go back', async () => {
    const { repository, base } = await twoBranches();
    await repository.git('symbolic-ref', 'HEAD', 'refs/heads/other');
    const machine = await machineWith(FAILS_ONCE);
    await writeFile(join(repository.folder, '.git/fails'), '');
    const faults = switchToMain(repository);
    const source = await openSource(dsOf(repository), 'main', { machine, faults });
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({ kind: 'unavailable', details: {} });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'a\n']);
    expect(await source.recover()).toBeNull();
  });
});

/** A user's switch to `main` just before a write moves that branch: the last step of it, in which git moves HEAD. */
function switchToMain(repository: TestRepository) {
  return faultsAt('tree-switched', () => gitNow(repository, 'symbolic-ref', 'HEAD', 'refs/heads/main'));
}

/** The first command that changes index and files succeeds but exits with an error; later ones work. */
const FAILS_ONCE =
  '{ [ "$1" != read-tree ] && [ "$1" != apply ]; } || ! rm .git/fails 2>/dev/null || { git "$@"; exit 1; }';

/** A source whose git runs these lines of shell first. */
async function sourceWithGit(repository: TestRepository, lines: string): Promise<CheckoutSource> {
  return openSource(dsOf(repository), null, { machine: await machineWith(lines) });
}

const UPDATE_REF_DIES = '[ "$1" != update-ref ] || kill -9 $$';
/** Where the packed refs are while git cannot read them. */
const HIDDEN_REFS = '.git/hidden-refs';
const PACKED_REFS = '.git/packed-refs';
const CANNOT_READ_REFS = `[ "$1" != for-each-ref ] || [ ! -e ${HIDDEN_REFS} ] || exit 128`;

/** Makes git unable to tell where the branch is. Resolves to where it was. */
async function hideRefs({ git, folder }: TestRepository, source: CheckoutSource): Promise<Head> {
  await git('pack-refs', '--all', '--prune');
  const head = await source.reader.head();
  await rename(join(folder, PACKED_REFS), join(folder, HIDDEN_REFS));
  return head;
}

describe('a git that dies instead of moving the branch', () => {
  it('makes the write fail without commits in the error, and leaves nothing in the work tree', async () => {
    const { repository, base } = await twoBranches();
    const source = await sourceWithGit(repository, UPDATE_REF_DIES);
    const refused = await publishOne(source, WRITE).catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: 'unavailable' });
    expect(refused).not.toHaveProperty('details.commits');
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect([await status(repository), await source.recover()]).toEqual(['', null]);
  });

  it('makes the first write of a repository fail in the same way', async () => {
    const repository = await testRepository();
    await mkdir(dsOf(repository));
    const source = await sourceWithGit(repository, UPDATE_REF_DIES);
    const refused = await publishOne(source, WRITE).catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: 'unavailable' });
    expect(refused).not.toHaveProperty('details.commits');
    expect([await status(repository), await source.recover()]).toEqual(['', null]);
  });

  it('makes the write fail with its commits in the error if nothing can tell whether they are published', async () => {
    const { repository, base } = await twoBranches();
    const source = await sourceWithGit(repository, `${UPDATE_REF_DIES}\n${CANNOT_READ_REFS}`);
    const head = await hideRefs(repository, source);
    const refused = await publishOne(source, WRITE, head).catch((error: unknown) => error);
    const made = await repository.git('rev-parse', 'refs/holdfast/publishing');
    expect(refused).toMatchObject({ kind: 'unavailable', details: { commits: [made] } });
    // It cannot be undone before the branch can be read either.
    await rename(join(repository.folder, HIDDEN_REFS), join(repository.folder, PACKED_REFS));
    expect(await source.recover()).toEqual({ commit: made });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await status(repository)).toBe('');
  });
});

it('reports uncommitted work as a conflict, not as moved-on, if the branch cannot be read', async () => {
  const { repository } = await twoBranches();
  const source = await sourceWithGit(repository, CANNOT_READ_REFS);
  const head = await hideRefs(repository, source);
  await writeFile(join(repository.folder, 'ds/apps/web.yaml'), 'mine\n');
  await expect(publishOne(source, WRITE, head)).rejects.toMatchObject({ kind: 'conflict' });
  expect(await read(repository, 'ds/apps/web.yaml')).toBe('mine\n');
});

describe('after the branch has moved', () => {
  it('the write succeeds although a user packs the refs, which removes the folder of the branch', async () => {
    const { repository } = await twoBranches();
    await repository.git('branch', '--move', 'main', 'team/main');
    const source = await openSource(dsOf(repository), null, {
      faults: faultsAt('branch-moved', () => gitNow(repository, 'pack-refs', '--all', '--prune')),
    });
    const id = await publishOne(source, WRITE);
    expect(await repository.git('rev-parse', 'team/main')).toBe(id);
    expect(existsSync(join(repository.folder, '.git/refs/heads/team'))).toBe(false);
    expect(await status(repository)).toBe('');
  });

  it('a write that fails names its commits', async () => {
    const { repository } = await twoBranches();
    const faults = faultsAt('branch-synced', () => {
      throw new Error('the disk is gone');
    });
    const source = await openSource(dsOf(repository), null, { faults });
    const refused = await publishOne(source, WRITE).catch((error: unknown) => error);
    const head = await repository.git('rev-parse', 'HEAD');
    expect(refused).toMatchObject({ kind: 'unavailable', details: { commits: [head] } });
  });
});

describe('while a write holds the lock of the index', () => {
  it.each([
    ['a reset', ['reset', '--quiet', '--hard']],
    ['a stash', ['stash', '--quiet']],
    ['a commit', ['-c', 'user.name=p', '-c', 'user.email=p@x', 'commit', '--quiet', '-m', 'mine']],
    ['a switch of branches', ['checkout', '--quiet', '-f', 'other']],
  ])('%s by a user fails, and the write succeeds', async (_name, args) => {
    const { repository, base } = await twoBranches();
    const codes: (number | null)[] = [];
    const source = await openSource(dsOf(repository), null, {
      faults: faultsAt('tree-switched', () => codes.push(gitNow(repository, ...args))),
    });
    const id = await publishOne(source, WRITE);
    expect(codes).toEqual([expect.any(Number)]);
    expect(codes).not.toContain(0);
    expect(await repository.git('rev-parse', 'HEAD', 'HEAD^')).toBe(`${id}\n${base}`);
    expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'b\n']);
  });

  it.each(['true', 'false'])(
    'nothing else is left in .git once the write is done (core.splitIndex=%s)',
    async (split) => {
      const { repository } = await twoBranches();
      await repository.git('config', 'core.splitIndex', split);
      await repository.git('update-index', '--force-write-index');
      const source = await openSource(dsOf(repository));
      for (const text of ['1', '2', '3']) await publishOne(source, { 'apps/web.yaml': text });
      expect(await status(repository)).toBe('');
      for (const name of ['index.lock', 'holdfast-index', 'holdfast-index.lock'])
        expect(existsSync(join(repository.folder, '.git', name)), name).toBe(false);
    },
  );
});
