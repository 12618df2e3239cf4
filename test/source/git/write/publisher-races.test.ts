import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { CloneSource } from '../../../../src/source/git/clone/clone.ts';
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
  it('away from its branch, after the commit is made, makes it reject as moved-on, and neither branch changes', async () => {
    const { repository, base, other } = await twoBranches();
    const faults = faultsAt('commit-written', () => gitNow(repository, 'switch', '--quiet', 'other'));
    const source = await openSource(dsOf(repository), null, { faults });
    expect(await publishOne(source, WRITE).catch((error: unknown) => error)).toMatchObject({
      kind: 'moved-on',
    });
    expect(await repository.git('rev-parse', 'main', 'other')).toBe(`${base}\n${other}`);
    expect(await status(repository)).toBe('');
  });

  it('slowly, away from its branch, finds it refused or published there, and nothing of it in the work tree', async () => {
    const { repository, base, other } = await twoBranches();
    const { source, arrived } = await sourceBeforeLock(repository);
    const head = await source.reader.head();
    const slow = await slowSwitch(repository, 'other');
    const write = publishOne(source, WRITE, head).catch((error: unknown) => error);
    await arrived;
    await slow.finish();
    const result = await write;
    const main = typeof result === 'string' ? result : base;
    if (main === base) expect(result).toMatchObject({ kind: 'moved-on' });
    expect(await repository.git('rev-parse', 'main', 'other')).toBe(`${main}\n${other}`);
    expect([await status(repository), await read(repository, 'ds/apps/new.yaml')]).toEqual(['', null]);
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
});

/** A source whose git runs these lines of shell first. */
async function sourceWithGit(repository: TestRepository, lines: string): Promise<CloneSource> {
  return openSource(dsOf(repository), null, { machine: await machineWith(lines) });
}

const PUSH_DIES = '[ "$1" != push ] || kill -9 $$';
/** Where the packed refs are while git cannot read them. */
const HIDDEN_REFS = '.git/hidden-refs';
const PACKED_REFS = '.git/packed-refs';
const CANNOT_READ_REFS = `[ "$1" != for-each-ref ] || [ ! -e ${HIDDEN_REFS} ] || exit 128`;

/** Makes git unable to tell where the branch is. Resolves to where it was. */
async function hideRefs({ git, folder }: TestRepository, source: CloneSource): Promise<Head> {
  await git('pack-refs', '--all', '--prune');
  const head = await source.reader.head();
  await rename(join(folder, PACKED_REFS), join(folder, HIDDEN_REFS));
  return head;
}

describe('a git that dies instead of moving the branch', () => {
  it('makes the write fail without commits in the error, and leaves nothing in the work tree', async () => {
    const { repository, base } = await twoBranches();
    const source = await sourceWithGit(repository, PUSH_DIES);
    const refused = await publishOne(source, WRITE).catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: 'unavailable' });
    expect(refused).not.toHaveProperty('details.commits');
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await status(repository)).toBe('');
  });

  it('makes the first write of a repository fail in the same way', async () => {
    const repository = await testRepository();
    await mkdir(dsOf(repository));
    const source = await sourceWithGit(repository, PUSH_DIES);
    const refused = await publishOne(source, WRITE).catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: 'unavailable' });
    expect(refused).not.toHaveProperty('details.commits');
    expect(await status(repository)).toBe('');
  });

  it('makes the write fail with its commits in the error if nothing can tell whether they are published', async () => {
    const { repository, base } = await twoBranches();
    const source = await sourceWithGit(repository, `${PUSH_DIES}\n${CANNOT_READ_REFS}`);
    const head = await hideRefs(repository, source);
    const refused = await publishOne(source, WRITE, head).catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: 'unavailable', details: { commits: [expect.any(String)] } });
    await rename(join(repository.folder, HIDDEN_REFS), join(repository.folder, PACKED_REFS));
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await status(repository)).toBe('');
  });
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

describe('a branch that git cannot move, although it could update index and work tree', () => {
  it('makes the write fail, and leaves nothing of it in them', async () => {
    const { repository, base } = await twoBranches();
    const source = await openSource(dsOf(repository));
    await rm(join(repository.folder, '.git/logs/refs/heads/main'));
    await mkdir(join(repository.folder, '.git/logs/refs/heads/main'));
    await writeFile(join(repository.folder, '.git/logs/refs/heads/main/in-the-way'), '');
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({
      kind: expect.stringMatching(/conflict|unavailable/),
    });
    await rm(join(repository.folder, '.git/logs/refs/heads/main'), { recursive: true });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect([await status(repository), await read(repository, 'ds/apps/new.yaml')]).toEqual(['', null]);
    const id = await publishOne(source, WRITE);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
  });
});

describe('a write', () => {
  it.each(['index.lock', 'refs/heads/main.lock'])(
    'waits while another git holds %s, and succeeds once it is released',
    async (name) => {
      const { repository } = await twoBranches();
      const lock = join(repository.folder, '.git', name);
      await writeFile(lock, '');
      const source = await openSource(dsOf(repository));
      const written = publishOne(source, WRITE);
      await sleep(300);
      expect(await read(repository, 'ds/apps/new.yaml')).toBeNull();
      await rm(lock);
      const id = await written;
      expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
      expect(await status(repository)).toBe('');
    },
  );

  it.each(['index.lock', 'refs/heads/main.lock'])(
    'is a conflict that changes nothing if %s is not released',
    async (name) => {
      const { repository, base } = await twoBranches();
      const lock = join(repository.folder, '.git', name);
      await writeFile(lock, '');
      const source = await openSource(dsOf(repository));
      await expect(publishOne(source, WRITE)).rejects.toMatchObject({ kind: 'conflict' });
      await rm(lock);
      expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
      expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'a\n']);
    },
  );

  it.each(['true', 'false'])('leaves nothing else in .git (core.splitIndex=%s)', async (split) => {
    const { repository } = await twoBranches();
    await repository.git('config', 'core.splitIndex', split);
    await repository.git('update-index', '--force-write-index');
    const before = await namesIn(repository);
    const source = await openSource(dsOf(repository));
    for (const text of ['1', '2', '3']) await publishOne(source, { 'apps/web.yaml': text });
    expect(await status(repository)).toBe('');
    expect(await namesIn(repository)).toEqual(before);
  });
});

/** What is in the git folder, except shared parts of a split index. */
async function namesIn({ folder }: TestRepository): Promise<string[]> {
  const names = await readdir(join(folder, '.git'));
  return names.filter((name) => !name.startsWith('sharedindex.')).sort();
}
