import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { testRepository } from '../../../support/git.ts';
import { machineWith, openSource, publishOne, read, status, write } from '../support.ts';
import { EDITS, FILES, interruptWrite, start } from './interrupted-write.ts';

/** A `git update-ref --stdin` that has begun. A shell starts it: a child of this process would count as our own. */
async function orphanIn(folder: string) {
  const orphan = spawn('sh', ['-c', 'git update-ref --stdin; :'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  onTestFinished(() => void orphan.kill('SIGKILL'));
  // It has begun once it answers.
  orphan.stdin.write('start\n');
  await once(orphan.stdout, 'data');
  return orphan;
}

describe('a git that outlives its manager', () => {
  it('can move the branch during the next start: the write is published, and nothing is undone', async () => {
    const { repository, base, source } = await start('tree-switched');
    await interruptWrite(source);
    const commit = await repository.git('rev-parse', 'refs/holdfast/publishing');
    const orphan = await orphanIn(repository.folder);
    const next = await openSource(join(repository.folder, 'ds'));
    const recovering = next.recover();
    orphan.stdin.end(`update refs/heads/main ${commit} ${base}\nprepare\ncommit\n`);
    expect(await recovering).toBeNull();
    expect(await repository.git('rev-parse', 'HEAD')).toBe(commit);
    expect(await status(repository)).toBe('');
  });

  it('makes the next write a conflict while it runs', async () => {
    const { repository, base, source } = await start('tree-switched');
    await interruptWrite(source);
    const orphan = await orphanIn(repository.folder);
    const next = await openSource(join(repository.folder, 'ds'));
    await expect(publishOne(next, { 'y.yaml': 'y' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('still running'),
    });
    orphan.stdin.end('abort\n');
    await once(orphan, 'close');
    await publishOne(next, { 'y.yaml': 'y' });
    expect(await repository.git('rev-parse', 'HEAD^')).toBe(base);
    expect(await status(repository)).toBe('');
  });
});

describe('a git that is killed during a write', () => {
  /** While `.git/brittle` exists, the command that changes the files is killed after it has begun to write one. */
  const BRITTLE = `if [ -e .git/brittle ] && { [ "$1" = read-tree ] || [ "$1" = apply ]; }; then
    rm ds/apps/web.yaml
    printf 'a: we' > ds/apps/web.yaml
    : > .git/index.lock
    kill -9 $$
  fi`;

  it('makes the write fail, and leaves neither half a file nor a lock', async () => {
    const repository = await testRepository();
    const base = await repository.commit(FILES);
    const machine = await machineWith(BRITTLE);
    const source = await openSource(join(repository.folder, 'ds'), null, { machine });
    await write(repository, '.git/brittle', '');
    await expect(publishOne(source, EDITS)).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await status(repository)).toBe('');
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a: web\n');
    await rm(join(repository.folder, '.git/brittle'));
    await publishOne(source, EDITS);
    expect(await status(repository)).toBe('');
  });
});

describe('a second index that a killed git left behind', () => {
  it('does not block a write, and neither does its lock', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    for (const name of ['holdfast-index', 'holdfast-index.lock'])
      await write(repository, `.git/${name}`, 'half an index');
    const id = await publishOne(await openSource(join(repository.folder, 'ds')), EDITS);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect(await status(repository)).toBe('');
  });
});
