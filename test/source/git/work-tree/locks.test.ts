import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isGitWriting, seesAllProcesses } from '../../../../src/source/git/work-tree/holders.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { sectionDraft } from '../record/section-draft.ts';
import { faultsAt, openSource, publishOne, read, restart, status, write } from '../support.ts';

const FILES = { 'ds/apps/web.yaml': 'a: web\n', 'else.txt': 'e\n' };
const EDITS = { 'apps/web.yaml': 'a: web\nb: 1\n', 'apps/new.yaml': 'n\n' };

/** Seconds after which a lock that nobody holds counts as dead, even in a container. */
const HOUR = 3600;

describe('lock files', async () => {
  const LOCKS = [
    'index.lock',
    'HEAD.lock',
    'refs/heads/main.lock',
    'packed-refs.lock',
    'shallow.lock',
    'refs/holdfast/publishing.lock',
  ];

  /** Creates a lock file that is this many seconds old; resolves to its path. */
  async function leaveLock({ folder }: TestRepository, name: string, age: number): Promise<string> {
    const path = join(folder, '.git', name);
    await writeFiles(folder, { [`.git/${name}`]: '' });
    const then = Date.now() / 1000 - age;
    await utimes(path, then, then);
    return path;
  }

  it.each(LOCKS)('%s of a dead process is removed and reported by a start', async (name) => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const path = await leaveLock(repository, name, HOUR);
    const cleared: string[] = [];
    const source = await openSource(join(repository.folder, 'ds'), null, {
      onLocksCleared: (files) => void cleared.push(...files),
    });
    await source.recover();
    expect(cleared).toEqual([name]);
    expect(existsSync(path)).toBe(false);
  });

  it.each(LOCKS)('%s that a dead process leaves after the start does not stop a write', async (name) => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const source = await restart(repository);
    await leaveLock(repository, name, HOUR);
    const id = await publishOne(source, EDITS);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect(await status(repository)).toBe('');
  });

  it('the lock of a dead process is removed even if it is from the future, because the clock was set back', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const path = await leaveLock(repository, 'index.lock', -HOUR);
    await restart(repository);
    expect(existsSync(path)).toBe(false);
  });

  it('the lock of a dead manager is removed at once, however young it is', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const path = await leaveLock(repository, 'index.lock', 0);
    await writeFile(path, 'holdfast 1\n');
    await restart(repository);
    expect(existsSync(path)).toBe(false);
  });

  it('that of the record of ids is removed by the next write of the record, and no other with it', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const { record } = await openSource(join(repository.folder, 'ds'));
    const version = await record.write(sectionDraft({ 'a.json': '1' }, null));
    const own = await leaveLock(repository, 'refs/holdfast/ids.lock', HOUR);
    const other = await leaveLock(repository, 'index.lock', HOUR);
    await record.write(sectionDraft({ 'a.json': '2' }, version));
    expect(await record.read()).toMatchObject({ files: new Map([['a.json', '2']]) });
    expect([existsSync(own), existsSync(other)]).toEqual([false, true]);
  });

  it('the lock of a running manager stays, however old it is', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const path = await leaveLock(repository, 'index.lock', 0);
    await writeFile(path, 'holdfast 1\n');
    await utimes(path, 1, 1);
    await holdOpen(path);
    await restart(repository);
    expect(await readFile(path, 'utf8')).toBe('holdfast 1\n');
  });

  it('a lock that a running process has open is waited for; then the write is a conflict', async () => {
    const repository = await testRepository();
    const base = await repository.commit(FILES);
    const path = await leaveLock(repository, 'index.lock', 60);
    await holdOpen(path);
    const source = await restart(repository);
    await expect(publishOne(source, EDITS)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('lock'),
    });
    expect(await readFile(path, 'utf8')).toBe('');
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a: web\n');
    await rm(path);
    await publishOne(source, EDITS);
  });

  it('the lock of a commit whose editor is open stays, although no process has the file open', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    await write(repository, 'else.txt', 'a change of the user');
    const opened = join(await temporaryFolder(), 'opened');
    const editor = join(await temporaryFolder(), 'editor');
    await writeFile(
      editor,
      `#!/bin/sh\n: > "${opened}"\nwhile [ -e "${opened}" ]; do sleep 0.05; done\necho user > "$1"\n`,
      { mode: 0o755 },
    );
    // A shell starts git, since a child of this process would count as the manager's own.
    const commit = repository.git(
      '-c',
      `alias.by-shell=!git -c core.editor=${editor} commit -qa; :`,
      'by-shell',
    );
    await expect.poll(() => existsSync(opened), { timeout: 60_000 }).toBe(true);
    const lock = join(repository.folder, '.git/index.lock');
    const aMinuteAgo = Date.now() / 1000 - 60;
    await utimes(lock, aMinuteAgo, aMinuteAgo);
    const source = await restart(repository);
    expect(existsSync(lock)).toBe(true);
    await expect(publishOne(source, EDITS)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('while its editor is open'),
    });
    await rm(opened);
    await commit;
    expect(await repository.git('log', '-1', '--format=%s')).toBe('user');
    expect(await status(repository)).toBe('');
  });

  it.each([
    ['refs/heads/main.lock', 'another work tree', 'stays, since all work trees share the ref', true],
    ['refs/heads/main.lock', 'a work tree with a relative path', 'stays', true],
    ['index.lock', 'another work tree', 'is removed, since each work tree has its own index', false],
  ])('%s, while a git runs in %s, %s', async (name, place, _outcome, stays) => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const linked = join(await temporaryFolder(), 'linked');
    await repository.git('worktree', 'add', '--quiet', '-b', 'side', linked);
    const registered = join(repository.folder, '.git/worktrees/linked');
    // As git does with `worktree.useRelativePaths`.
    if (place.includes('relative'))
      await writeFile(join(registered, 'gitdir'), `${relative(registered, join(linked, '.git'))}\n`);
    // A shell starts git, since a child of this process would count as the manager's own.
    const other = spawn('sh', ['-c', 'git update-ref --stdin; :'], { cwd: linked, stdio: 'pipe' });
    onTestFinished(async () => {
      other.stdin.end();
      await once(other, 'close');
    });
    other.stdin.write('start\n');
    await once(other.stdout, 'data');
    const path = await leaveLock(repository, name, HOUR);
    await restart(repository);
    expect(existsSync(path)).toBe(stays);
  });

  it('the lock of a dead process is removed even while another git joins packs, which can take minutes', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    // As `git repack` would start it; a shell starts it, since a child of this process would count as the manager's own.
    const packing = spawn('sh', ['-c', 'echo; git pack-objects --stdout; :'], {
      cwd: repository.folder,
      stdio: 'pipe',
    });
    onTestFinished(async () => {
      packing.stdin.end();
      await once(packing, 'close');
    });
    await once(packing.stdout, 'data');
    await expect.poll(() => isGitWriting([repository.folder])).toBe(true);
    const path = await leaveLock(repository, 'index.lock', HOUR);
    await restart(repository);
    expect(existsSync(path)).toBe(false);
  });

  it.runIf(await seesAllProcesses())(
    'a young lock survives a start, since its process may be about to open it, but stops no later write',
    async () => {
      const repository = await testRepository();
      await repository.commit(FILES);
      const path = await leaveLock(repository, 'index.lock', 0);
      // The lock stays young, however long the start takes.
      const touch = (): void => void utimes(path, new Date(), new Date()).catch(() => undefined);
      const staysYoung = setInterval(touch, 100);
      onTestFinished(() => clearInterval(staysYoung));
      const source = await restart(repository);
      clearInterval(staysYoung);
      expect(await readFile(path, 'utf8')).toBe('');
      const id = await publishOne(source, EDITS);
      expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    },
  );
});

describe('two managers on one checkout', () => {
  it('leave the unfinished write of the other one alone while that runs, and undo it once that is dead', async () => {
    const repository = await testRepository();
    const base = await repository.commit(FILES);
    const first = await openSource(join(repository.folder, 'ds'), null, {
      faults: faultsAt('tree-switched', () => {
        throw new Error('interrupted');
      }),
    });
    const head = await first.reader.head();
    await expect(publishOne(first, EDITS, head)).rejects.toThrow();
    await first.close();
    const lock = join(repository.folder, '.git/index.lock');
    await writeFile(lock, 'holdfast 4194303\n');
    const other = await holdOpen(lock);
    const source = await openSource(join(repository.folder, 'ds'));
    await expect(source.recover()).rejects.toMatchObject({ kind: 'conflict' });
    await expect(publishOne(source, { 'y.yaml': 'y' }, head)).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('has locked the repository'),
    });
    expect(await read(repository, 'ds/apps/new.yaml')).toBe('n\n');
    other.kill('SIGKILL');
    await once(other, 'close');
    await publishOne(source, { 'y.yaml': 'y' }, head);
    expect(await repository.git('rev-parse', 'HEAD^')).toBe(base);
    expect(await status(repository)).toBe('');
  });
});

/** Starts a process that has a file open. */
async function holdOpen(path: string): Promise<ChildProcess> {
  const file = await open(path, 'r');
  const child = spawn('sleep', ['600'], { stdio: [file.fd, 'ignore', 'ignore'] });
  await once(child, 'spawn');
  await file.close();
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}
