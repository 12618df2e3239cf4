import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, chmod, open, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CheckoutSource, openCheckout } from '../../../../src/source/git/checkout.ts';
import { isGitWriting } from '../../../../src/source/git/work-tree/holders.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { draftOf, MACHINE, openSource } from '../support.ts';

const FILES = { 'ds/apps/web.yaml': 'a: web\n', 'else.txt': 'e\n' };
const EDITS = { 'apps/web.yaml': 'a: web\nb: 1\n', 'apps/new.yaml': 'n\n' };

const status = ({ git }: TestRepository): Promise<string> =>
  git('status', '--porcelain', '--untracked-files=all');
const write = ({ folder }: TestRepository, path: string, text: string) =>
  writeFiles(folder, { [path]: text });
const read = ({ folder }: TestRepository, path: string) => readFile(join(folder, path), 'utf8');

/** Opens the folder as the next start does. */
async function restart(repository: TestRepository): Promise<CheckoutSource> {
  const source = await openSource(join(repository.folder, 'ds'));
  await source.recover();
  return source;
}

describe('locks', () => {
  const LOCKS = [
    'index.lock',
    'HEAD.lock',
    'refs/heads/main.lock',
    'packed-refs.lock',
    'refs/holdfast/publishing.lock',
  ];

  async function leaveLock({ folder }: TestRepository, name: string, age: number): Promise<string> {
    const path = join(folder, '.git', name);
    await writeFiles(folder, { [`.git/${name}`]: '' });
    const then = Date.now() / 1000 - age;
    await utimes(path, then, then);
    return path;
  }

  it.each(LOCKS)('%s of a dead process is removed by a start, and told', async (name) => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const path = await leaveLock(repository, name, 60);
    const cleared: string[] = [];
    const source = await openCheckout(join(repository.folder, 'ds'), null, MACHINE, {
      onLocksCleared: (files) => void cleared.push(...files),
    });
    onTestFinished(async () => {
      await Promise.all([source.reader.close(), source.publisher.close()]);
    });
    await source.recover();
    expect(cleared).toEqual([name]);
    await expect(readFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it.each(LOCKS)('%s that a dead process leaves later does not stop a write', async (name) => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const source = await restart(repository);
    await leaveLock(repository, name, 60);
    const [id] = await source.publisher.publish(await source.reader.head(), [draftOf(EDITS)]);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect(await status(repository)).toBe('');
  });

  it('one of a manager that died is removed at once', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const path = await leaveLock(repository, 'index.lock', 0);
    await writeFile(path, 'holdfast 1\n');
    await restart(repository);
    await expect(readFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('one of a manager that lives is left, however old it is', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const path = await leaveLock(repository, 'index.lock', 0);
    await writeFile(path, 'holdfast 1\n');
    await utimes(path, 1, 1);
    await holdOpen(path);
    await restart(repository);
    expect(await readFile(path, 'utf8')).toBe('holdfast 1\n');
  });

  it('a lock that a living process has open is waited for, and then the write is a conflict', async () => {
    const repository = await testRepository();
    const base = await repository.commit(FILES);
    const path = await leaveLock(repository, 'index.lock', 60);
    await holdOpen(path);
    const source = await restart(repository);
    await expect(
      source.publisher.publish(await source.reader.head(), [draftOf(EDITS)]),
    ).rejects.toMatchObject({ kind: 'conflict', message: expect.stringContaining('lock') });
    expect(await readFile(path, 'utf8')).toBe('');
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a: web\n');
    await rm(path);
    await source.publisher.publish(await source.reader.head(), [draftOf(EDITS)]);
  });

  it('the lock of a commit whose editor is open is not taken, though no process has it open', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    await write(repository, 'else.txt', 'a commit that takes its time');
    const opened = join(await temporaryFolder(), 'opened');
    const editor = join(await temporaryFolder(), 'editor');
    await writeFile(
      editor,
      `#!/bin/sh\n: > "${opened}"\nwhile [ -e "${opened}" ]; do sleep 0.05; done\necho person > "$1"\n`,
    );
    await chmod(editor, 0o755);
    // By a shell: a child of this process would count as one of the manager's own.
    const commit = repository.git(
      '-c',
      `alias.by-shell=!git -c core.editor=${editor} commit -qa; :`,
      'by-shell',
    );
    await expect
      .poll(
        () =>
          readFile(opened).then(
            () => true,
            () => false,
          ),
        { timeout: 60_000 },
      )
      .toBe(true);
    const lock = join(repository.folder, '.git/index.lock');
    const long = Date.now() / 1000 - 60;
    await utimes(lock, long, long);
    const source = await restart(repository);
    expect(await readFile(lock).then(() => 'there')).toBe('there');
    const refused = source.publisher.publish(await source.reader.head(), [draftOf(EDITS)]);
    await expect(refused).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('while its editor is open'),
    });
    await rm(opened);
    await commit;
    expect(await repository.git('log', '-1', '--format=%s')).toBe('person');
    expect(await status(repository)).toBe('');
  });

  it.each([
    { name: 'refs/heads/main.lock', what: 'a ref is left, which all of them share', stays: true },
    { name: 'index.lock', what: 'the index is removed, which only its own work tree has', stays: false },
  ])('while a git works in another work tree, the lock of $what', async ({ name, stays }) => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const linked = join(await temporaryFolder(), 'linked');
    await repository.git('worktree', 'add', '--quiet', '-b', 'side', linked);
    // By a shell: a child of this process would count as one of the manager's own.
    const other = spawn('sh', ['-c', 'git update-ref --stdin; :'], { cwd: linked, stdio: 'pipe' });
    onTestFinished(async () => {
      other.stdin.end();
      await once(other, 'close');
    });
    other.stdin.write('start\n');
    await once(other.stdout, 'data');
    const path = await leaveLock(repository, name, 60);
    await restart(repository);
    expect(
      await access(path).then(
        () => true,
        () => false,
      ),
    ).toBe(stays);
  });

  it('one of a dead process is removed while packs are joined, which can take minutes', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    // As a helper of `git repack`, which is no child of this process either.
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
    const path = await leaveLock(repository, 'index.lock', 60);
    await restart(repository);
    await expect(readFile(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('a young lock is left for a moment: its process may be about to open it', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const path = await leaveLock(repository, 'index.lock', 0);
    // However long the start takes on a slow machine.
    const touch = (): void => void utimes(path, new Date(), new Date()).catch(() => undefined);
    const staysYoung = setInterval(touch, 100);
    onTestFinished(() => clearInterval(staysYoung));
    const source = await restart(repository);
    clearInterval(staysYoung);
    expect(await readFile(path, 'utf8')).toBe('');
    const [id] = await source.publisher.publish(await source.reader.head(), [draftOf(EDITS)]);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
  });
});

describe('two managers on one checkout', () => {
  it('one leaves the write alone that the other is at, and takes it over when that one is dead', async () => {
    const repository = await testRepository();
    const base = await repository.commit(FILES);
    const dying = await openCheckout(join(repository.folder, 'ds'), null, MACHINE, {
      faults: {
        pass: (point) => {
          if (point === 'tree-switched') throw new Error('died');
        },
      },
    });
    const head = await dying.reader.head();
    await expect(dying.publisher.publish(head, [draftOf(EDITS)])).rejects.toThrow();
    await Promise.all([dying.reader.close(), dying.publisher.close()]);
    const lock = join(repository.folder, '.git/index.lock');
    await writeFile(lock, 'holdfast 4194303\n');
    const other = await holdOpen(lock);
    const source = await openSource(join(repository.folder, 'ds'));
    await expect(source.recover()).rejects.toMatchObject({ kind: 'conflict' });
    await expect(source.publisher.publish(head, [draftOf({ 'y.yaml': 'y' })])).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('has locked the repository'),
    });
    expect(await read(repository, 'ds/apps/new.yaml')).toBe('n\n');
    other.kill('SIGKILL');
    await once(other, 'close');
    await source.publisher.publish(head, [draftOf({ 'y.yaml': 'y' })]);
    expect(await repository.git('rev-parse', 'HEAD^')).toBe(base);
    expect(await status(repository)).toBe('');
  });
});

/** A process of its own that has a file open. */
async function holdOpen(path: string): Promise<ChildProcess> {
  const file = await open(path, 'r');
  const child = spawn('sleep', ['600'], { stdio: [file.fd, 'ignore', 'ignore'] });
  await once(child, 'spawn');
  await file.close();
  onTestFinished(async () => {
    child.kill('SIGKILL');
  });
  return child;
}
