import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { canMount, mountDisk } from '../../../faults/full-disk.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../../../support/git.ts';
import { machineWith, openSource, publishOne, read, status, write } from '../support.ts';

const FILES = { 'ds/apps/web.yaml': 'a\n', 'else.txt': 'e\n', '.gitignore': 'new.yaml\n' };
const WRITE = { 'apps/web.yaml': 'b\n' };

async function start() {
  const repository = await testRepository();
  await repository.commit(FILES);
  return repository;
}

describe('work that a user begins while a write waits for a lock', () => {
  it.each([
    ['index.lock', 'a deleted file', WRITE, rmWeb, ' D ds/apps/web.yaml'],
    ['index.lock', 'a new file that git ignores', { 'apps/new.yaml': 'ours\n' }, makeNew, ''],
    ['refs/heads/main.lock', 'a deleted file', WRITE, rmWeb, ' D ds/apps/web.yaml'],
  ])('(%s; %s) makes it a conflict, and stays', async (lock, _, edits, work, shown) => {
    const repository = await start();
    const source = await openSource(join(repository.folder, 'ds'));
    const path = join(repository.folder, '.git', lock);
    await writeFile(path, '');
    const written = publishOne(source, edits).catch((error: unknown) => error);
    await sleep(500);
    await work(repository);
    await sleep(500);
    await rm(path);
    const paths = Object.keys(edits).map((path) => `ds/${path}`);
    expect(await written).toMatchObject({ kind: 'conflict', details: { paths } });
    expect(await status(repository)).toBe(shown);
    expect(await read(repository, 'ds/apps/new.yaml')).toBe(shown === '' ? 'mine' : null);
  });
});

function rmWeb({ folder }: TestRepository): Promise<void> {
  return rm(join(folder, 'ds/apps/web.yaml'));
}

function makeNew(repository: TestRepository): Promise<void> {
  return write(repository, 'ds/apps/new.yaml', 'mine');
}

describe('a push that fails after index and work tree have moved', () => {
  it('is taken back once another git has released the index', async () => {
    const repository = await start();
    const lock = join(repository.folder, '.git/index.lock');
    const release = `(sleep 0.5; rm '${lock}') < /dev/null > /dev/null 2>&1 &`;
    const lines = `[ "$1" != push ] || { git "$@"; code=$?; : > '${lock}'; ${release}\nexit $code; }`;
    const source = await openSource(join(repository.folder, 'ds'), null, {
      machine: await machineWith(lines),
    });
    const log = join(repository.folder, '.git/logs/refs/heads/main');
    await rm(log);
    await write(repository, '.git/logs/refs/heads/main/in-the-way', '');
    await expect(publishOne(source, WRITE)).rejects.toBeInstanceOf(Error);
    await rm(log, { recursive: true });
    expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'a\n']);
  });
});

describe('a data folder', () => {
  it('whose hooks are gone gets them again, so that work on other files blocks no write', async () => {
    const repository = await start();
    const dataFolder = await temporaryFolder();
    const source = await openSource(join(repository.folder, 'ds'), null, { dataFolder });
    await write(repository, 'else.txt', 'mine');
    await rm(join(dataFolder, 'hooks'), { recursive: true });
    await publishOne(source, WRITE);
    expect(await status(repository)).toBe(' M else.txt');
  });

  it.skipIf(!canMount())(
    'from which no program may run makes writes unavailable, with the reason',
    async () => {
      const repository = await start();
      const dataFolder = await mountDisk(8, 'noexec');
      const source = await openSource(join(repository.folder, 'ds'), null, { dataFolder });
      await expect(publishOne(source, WRITE)).rejects.toMatchObject({
        kind: 'unavailable',
        message: expect.stringContaining('noexec'),
      });
      expect(await status(repository)).toBe('');
      execFileSync('mount', ['-o', 'remount,exec', dataFolder]);
      const id = await publishOne(source, WRITE);
      expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    },
  );
});

describe('a disk that has room for the objects of a write, but not for its files', () => {
  it.skipIf(!canMount())(
    'makes it unavailable and keeps the old files; with space, it succeeds',
    async () => {
      const repository = repositoryAt(await mountDisk(8));
      await repository.git('init', '--quiet', '--initial-branch=main');
      await repository.commit(FILES);
      const source = await openSource(join(repository.folder, 'ds'));
      const edits = { 'apps/web.yaml': randomBytes(60_000).toString('base64'), 'apps/other.yaml': 'o\n' };
      const ballast = join(repository.folder, '.git/ballast');
      for (const free of [0, 80_000, 100_000, 120_000, 140_000]) {
        leave(ballast, free);
        await expect(publishOne(source, edits)).rejects.toMatchObject({
          kind: 'unavailable',
          message: expect.stringContaining('the disk is full'),
        });
        rmSync(ballast);
        expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'a\n']);
      }
      await publishOne(source, edits);
      expect(await status(repository)).toBe('');
    },
  );
});

/** Fills the disk of a file until so many bytes are left. */
function leave(path: string, free: number): void {
  writeFileSync(path, '');
  const { bavail, bsize } = statfsSync(path);
  appendFileSync(path, Buffer.alloc(bavail * bsize - free));
}

describe('a manager that exits while git is at the work tree', () => {
  it('leaves all of the write there', async () => {
    const repository = await start();
    const script = fileURLToPath(new URL('exit-in-checkout.ts', import.meta.url));
    const dataFolder = await temporaryFolder();
    execFileSync(process.execPath, ['--import', 'tsx', script, repository.folder, dataFolder]);
    const lock = join(repository.folder, '.git/index.lock');
    await expect.poll(() => existsSync(lock), { timeout: 20_000 }).toBe(false);
    await expect.poll(() => status(repository), { timeout: 20_000 }).toBe('');
    expect(await read(repository, 'ds/apps/f1499.yaml')).toBe('b\n');
  });
});

describe('a clone without a loose object', () => {
  it('takes a write that is so large that git keeps it as a pack', async () => {
    const repository = await start();
    const source = await openSource(join(repository.folder, 'ds'));
    await repository.git('gc', '--quiet', '--prune=now');
    const edits = Array.from({ length: 300 }, (_, index) => [`apps/f${index}.yaml`, `${index}\n`] as const);
    await publishOne(source, Object.fromEntries(edits));
    expect(await status(repository)).toBe('');
    expect(await read(repository, 'ds/apps/f299.yaml')).toBe('299\n');
  });
});
