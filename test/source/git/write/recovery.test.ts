import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openCheckout } from '../../../../src/source/git/checkout.ts';
import type { Machine } from '../../../../src/source/git/repository/repository.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { draftOf, MACHINE, openSource } from '../support.ts';
import {
  dieWriting,
  dyingSource,
  EDITS,
  FILES,
  read,
  restart,
  start,
  status,
  write,
} from './interrupted-write.ts';

describe('a write that died', () => {
  it.each(['commit-written', 'switch-noted', 'tree-switched'] as const)(
    'at %s is not published, and the next start leaves no trace of it',
    async (point) => {
      const { repository, base, source } = await start(point);
      await dieWriting(source);
      const next = await restart(repository);
      expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
      expect(await status(repository)).toBe('');
      expect(await read(repository, 'ds/apps/old.yaml')).toBe('a: old\n');
      await expect(readFile(join(repository.folder, 'ds/apps/n'))).rejects.toMatchObject({ code: 'ENOENT' });
      await next.publisher.publish(await next.reader.head(), [draftOf(EDITS)]);
      expect(await status(repository)).toBe('');
      expect(await repository.show('ds/apps/web.yaml')).toBe(EDITS['apps/web.yaml']);
    },
  );

  it.each(['branch-moved', 'branch-synced', 'publish-done'] as const)(
    'at %s is published, and the next start leaves it so',
    async (point) => {
      const { repository, base, source } = await start(point);
      await dieWriting(source);
      const head = await repository.git('rev-parse', 'HEAD');
      await restart(repository);
      expect(await repository.git('rev-parse', 'HEAD', 'HEAD^')).toBe(`${head}\n${base}`);
      expect(await status(repository)).toBe('');
    },
  );

  it('is undone by the next write of the same process too', async () => {
    const { repository, base, source } = await start('undo-begins');
    await dieWriting(await dyingSource(repository, 'tree-switched'));
    await expect(source.recover()).rejects.toMatchObject({ kind: 'unavailable' });
    const undone: string[] = [];
    const next = await openCheckout(join(repository.folder, 'ds'), null, MACHINE, {
      onUndone: ({ commit }) => undone.push(commit),
    });
    onTestFinished(() => next.close());
    const [id] = await next.publisher.publish(await next.reader.head(), [draftOf({ 'y.yaml': 'y' })]);
    expect(await repository.git('rev-parse', `${id}^`)).toBe(base);
    expect(await repository.git('show', '--name-only', '--format=', 'HEAD')).toBe('ds/y.yaml');
    expect(await status(repository)).toBe('');
    expect(undone).toEqual([expect.stringMatching(/^[0-9a-f]{40}$/)]);
  });

  it('is undone although a person removed the note file of the writes before', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const source = await openSource(join(repository.folder, 'ds'));
    const publish = async (edits: Record<string, string | null>) =>
      source.publisher.publish(await source.reader.head(), [draftOf(edits)]);
    const [base] = await publish({ 'y.yaml': 'y' });
    await rm(join(repository.folder, '.git/holdfast-switch'));
    // git can write no reflog, so it moves no branch.
    const logs = join(repository.folder, '.git/logs');
    await rename(logs, `${logs}-away`);
    await writeFile(logs, '');
    await expect(publish(EDITS)).rejects.toMatchObject({ kind: 'unavailable' });
    await rm(logs);
    await rename(`${logs}-away`, logs);
    expect(await status(repository)).toBe('');
    const [id] = await publish({ 'apps/web.yaml': 'a: web\nb: 2\n' });
    expect(await repository.git('rev-parse', `${id}^`)).toBe(base);
    expect(await status(repository)).toBe('');
  });

  it('is undone where its git has left a lock, of which a refresh of the index says nothing', async () => {
    const { repository, base, source } = await start('tree-switched');
    await dieWriting(source);
    await writeFile(join(repository.folder, '.git/holdfast-index.lock'), 'half an index');
    // Only an index that has something new to say of a file is written.
    const yesterday = new Date(Date.now() - 86_400_000);
    await utimes(join(repository.folder, 'ds/apps/cron.yaml'), yesterday, yesterday);
    await restart(repository);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await status(repository)).toBe('');
  });

  it('is not undone while git cannot say whether it was published', async () => {
    const { repository, source } = await start('tree-switched');
    await dieWriting(source);
    const folder = await temporaryFolder();
    const script = `#!/bin/sh\n[ "$1" != merge-base ] || exit 128\nPATH='${process.env['PATH']}' exec git "$@"\n`;
    await writeFile(join(folder, 'git'), script, { mode: 0o755 });
    const machine = { ...MACHINE, env: { PATH: `${folder}:${process.env['PATH']}` } };
    const next = await openCheckout(join(repository.folder, 'ds'), null, machine);
    onTestFinished(() => next.close());
    await expect(next.recover()).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await read(repository, 'ds/apps/web.yaml')).toBe(EDITS['apps/web.yaml']);
    await restart(repository);
    expect(await status(repository)).toBe('');
  });

  it('meanwhile in another process is undone before a write that had begun goes on', async () => {
    const { repository, base, source } = await start('tree-switched');
    await dieWriting(source);
    const note = join(repository.folder, '.git/holdfast-switch');
    const left = await readFile(note);
    await restart(repository);
    const next = await openCheckout(join(repository.folder, 'ds'), null, MACHINE, {
      faults: {
        pass: (point) => {
          if (point === 'commit-written' && left.length > 0) writeFileSync(note, left);
        },
      },
    });
    onTestFinished(() => next.close());
    const publish = async () =>
      next.publisher.publish(await next.reader.head(), [draftOf({ 'y.yaml': 'y' })]);
    await expect(publish()).rejects.toMatchObject({ kind: 'moved-on' });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await status(repository)).toBe('');
  });

  it('meanwhile in another process is not forgotten by a write to a branch that is not checked out', async () => {
    const { repository, base, source } = await start('tree-switched');
    await repository.git('branch', 'side');
    await dieWriting(source);
    const note = join(repository.folder, '.git/holdfast-switch');
    const left = await readFile(note);
    await writeFile(note, '');
    const next = await openCheckout(join(repository.folder, 'ds'), 'side', MACHINE, {
      faults: {
        pass: (point) => {
          if (point === 'commit-written') writeFileSync(note, left);
        },
      },
    });
    onTestFinished(() => next.close());
    await next.publisher.publish(await next.reader.head(), [draftOf({ 'y.yaml': 'y' })]);
    expect(await next.recover()).toEqual({ commit: expect.any(String) });
    expect(await repository.git('rev-parse', 'HEAD', 'side^')).toBe(`${base}\n${base}`);
    expect(await status(repository)).toBe('');
  });

  it('can die again while it is undone', async () => {
    const { repository, source } = await start('tree-switched');
    await dieWriting(source);
    await expect((await dyingSource(repository, 'undo-done')).recover()).rejects.toThrow();
    await restart(repository);
    expect(await status(repository)).toBe('');
  });

  it('on a branch without a commit leaves an empty one', async () => {
    const repository = await testRepository();
    await mkdir(join(repository.folder, 'ds'));
    await dieWriting(await dyingSource(repository, 'tree-switched'), { 'apps/web.yaml': 'w\n' });
    expect(await status(repository)).toBe('A  ds/apps/web.yaml');
    const next = await restart(repository);
    expect(await status(repository)).toBe('');
    await next.publisher.publish(await next.reader.head(), [draftOf({ 'apps/web.yaml': 'w\n' })]);
    expect(await repository.show('ds/apps/web.yaml')).toBe('w\n');
  });

  it('in a sparse checkout leaves out what it left out before', async () => {
    const { repository, source } = await start('tree-switched');
    await repository.git('sparse-checkout', 'set', 'elsewhere');
    await dieWriting(source);
    await restart(repository);
    expect(await status(repository)).toBe('');
    expect(await read(repository, 'ds/apps/web.yaml')).toBeNull();
    expect(await repository.git('diff', '--cached', '--name-only')).toBe('');
  });

  it('tells which commit was undone, once', async () => {
    const { repository, source } = await start('tree-switched');
    await dieWriting(source);
    const next = await openSource(join(repository.folder, 'ds'));
    const commit = await repository.git('rev-parse', 'refs/holdfast/publishing');
    expect(await next.recover()).toEqual({ commit });
    expect(await next.recover()).toBeNull();
  });
});

describe('a write that died, whose commit a person removed', () => {
  async function removeCommit(repository: TestRepository): Promise<void> {
    const { git, folder } = repository;
    await git('update-ref', '-d', 'refs/holdfast/publishing');
    const packs = join(folder, '.git/objects/pack');
    for (const name of await readdir(packs)) if (name.endsWith('.keep')) await rm(join(packs, name));
    await git('reflog', 'expire', '--expire=now', '--all');
    await git('gc', '--quiet', '--prune=now');
  }

  it.each([
    { name: 'and reset', work: ['reset', '--quiet', '--hard'] },
    { name: 'and committed as their own', work: ['commit', '--quiet', '-m', 'mine'] },
  ])('$name: nothing is left to undo', async ({ work }) => {
    const { repository, source } = await start('tree-switched');
    await dieWriting(source);
    await source.close();
    await repository.git(...work);
    await removeCommit(repository);
    const next = await restart(repository);
    await next.publisher.publish(await next.reader.head(), [draftOf({ 'apps/web.yaml': 'c\n' })]);
    expect(await status(repository)).toBe('');
  });

  it('and left its changes: the write is a conflict that names them and the note', async () => {
    const { repository, source } = await start('tree-switched');
    await dieWriting(source);
    await source.close();
    await removeCommit(repository);
    const next = await openSource(join(repository.folder, 'ds'));
    const write = async () =>
      next.publisher.publish(await next.reader.head(), [draftOf({ 'apps/cron.yaml': 'c\n' })]);
    await expect(write()).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/ds\/apps\/web.yaml.*\.git\/holdfast-switch/),
    });
    await repository.git('reset', '--quiet', '--hard');
    await write();
    expect(await status(repository)).toBe('');
  });
});

describe('a switch that was cut in the middle', () => {
  /** What a killed `read-tree` leaves: some files new, one begun, one gone, the index as it was. */
  async function cut(repository: TestRepository): Promise<void> {
    await dieWriting(await dyingSource(repository, 'switch-noted'));
    await rm(join(repository.folder, 'ds/apps/web.yaml'));
    await write(repository, 'ds/apps/web.yaml', 'a: we');
    await rm(join(repository.folder, 'ds/apps/old.yaml'));
    await write(repository, 'ds/apps/n/new.yaml', 'n\n');
    await write(repository, 'ds/x.yaml', '');
  }

  it('is undone: half a file, a whole one, an empty one, and one that is gone', async () => {
    const { repository, base } = await start('switch-noted');
    await cut(repository);
    await restart(repository);
    expect(await status(repository)).toBe('');
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a: web\n');
  });

  it.each([
    ['is undone after a loss of power, though the index is there whole', 'before', '', 'a: web\n'],
    ['leaves a file alone that a person emptied since', null, ' M ds/apps/web.yaml', ''],
  ])('%s', async (_, boot, left, text) => {
    const { repository, source } = await start('tree-switched');
    await dieWriting(source);
    const note = join(repository.folder, '.git/holdfast-switch');
    const noted = JSON.parse(await readFile(note, 'utf8'));
    await writeFile(note, JSON.stringify({ ...noted, boot: boot ?? noted.boot }));
    await write(repository, 'ds/apps/web.yaml', '');
    if (boot !== null) await rm(join(repository.folder, 'ds/x.yaml'));
    await restart(repository);
    expect(await status(repository)).toBe(left);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe(text);
  });

  it('is undone where line ends are written in another way', async () => {
    const { repository } = await start('switch-noted');
    await repository.commit({ '.gitattributes': '*.yaml text eol=crlf\n' });
    await dieWriting(await dyingSource(repository, 'switch-noted'));
    await rm(join(repository.folder, 'ds/apps/web.yaml'));
    await write(repository, 'ds/apps/web.yaml', 'a: web\r\nb: 1\r\n');
    await restart(repository);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a: web\r\n');
    expect(await status(repository)).toBe('');
  });

  it('leaves alone what was the same as the commit before it began', async () => {
    const { repository } = await start('switch-noted');
    await write(repository, 'ds/apps/web.yaml', EDITS['apps/web.yaml']);
    await dieWriting(await dyingSource(repository, 'switch-noted'));
    await restart(repository);
    expect(await status(repository)).toBe(' M ds/apps/web.yaml');
    expect(await read(repository, 'ds/apps/web.yaml')).toBe(EDITS['apps/web.yaml']);
  });

  it('leaves alone what a person wrote since', async () => {
    const { repository } = await start('switch-noted');
    await cut(repository);
    await write(repository, 'ds/apps/web.yaml', 'mine\n');
    await write(repository, 'ds/x.yaml', 'my own x\n');
    await restart(repository);
    expect(await status(repository)).toBe(' M ds/apps/web.yaml\n?? ds/x.yaml');
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('mine\n');
    expect(await read(repository, 'ds/x.yaml')).toBe('my own x\n');
  });
});

/** A `git update-ref --stdin` that has begun; by a shell: a child of this process would count as one of the manager's own. */
async function orphanIn(folder: string) {
  const orphan = spawn('sh', ['-c', 'git update-ref --stdin; :'], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  onTestFinished(() => void orphan.kill('SIGKILL'));
  // It answers, so it is there.
  orphan.stdin.write('start\n');
  await once(orphan.stdout, 'data');
  return orphan;
}

describe('a git that outlives its manager', () => {
  it('and moves the branch after the next start has begun: the write is published, and nothing is undone', async () => {
    const { repository, base, source } = await start('tree-switched');
    await dieWriting(source);
    const commit = await repository.git('rev-parse', 'refs/holdfast/publishing');
    const orphan = await orphanIn(repository.folder);
    const next = await openSource(join(repository.folder, 'ds'));
    const recovering = next.recover();
    orphan.stdin.end(`update refs/heads/main ${commit} ${base}\nprepare\ncommit\n`);
    expect(await recovering).toBeNull();
    expect(await repository.git('rev-parse', 'HEAD')).toBe(commit);
    expect(await status(repository)).toBe('');
  });

  it('and does not end: the next write is a conflict that says so', async () => {
    const { repository, base, source } = await start('tree-switched');
    await dieWriting(source);
    const orphan = await orphanIn(repository.folder);
    const next = await openSource(join(repository.folder, 'ds'));
    await expect(
      next.publisher.publish(await next.reader.head(), [draftOf({ 'y.yaml': 'y' })]),
    ).rejects.toMatchObject({ kind: 'conflict', message: expect.stringContaining('still running') });
    orphan.stdin.end('abort\n');
    await once(orphan, 'close');
    await next.publisher.publish(await next.reader.head(), [draftOf({ 'y.yaml': 'y' })]);
    expect(await repository.git('rev-parse', 'HEAD^')).toBe(base);
    expect(await status(repository)).toBe('');
  });
});

describe('a git that is killed while the manager lives', () => {
  /** A machine whose `read-tree` dies after it has begun to write a file. */
  async function brittleMachine(repository: TestRepository): Promise<Machine> {
    const folder = await temporaryFolder();
    const path = process.env['PATH'];
    const script = `#!/bin/sh
      if [ "$1" = read-tree ] && [ -e "${folder}/brittle" ]; then
        rm "${repository.folder}/ds/apps/web.yaml"
        printf 'a: we' > "${repository.folder}/ds/apps/web.yaml"
        : > "${repository.folder}/.git/index.lock"
        kill -9 $$
      fi
      PATH="${path}" exec git "$@"\n`;
    await writeFile(join(folder, 'git'), script, { mode: 0o755 });
    await writeFile(join(folder, 'brittle'), '');
    return { ...MACHINE, env: { PATH: `${folder}:${path}` } };
  }

  it('fails the write, and leaves no trace of it: neither half a file nor a lock', async () => {
    const repository = await testRepository();
    const base = await repository.commit(FILES);
    const machine = await brittleMachine(repository);
    const source = await openCheckout(join(repository.folder, 'ds'), null, machine);
    onTestFinished(async () => {
      await Promise.all([source.reader.close(), source.publisher.close()]);
    });
    await expect(
      source.publisher.publish(await source.reader.head(), [draftOf(EDITS)]),
    ).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await status(repository)).toBe('');
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a: web\n');
    await rm(join((machine.env['PATH'] ?? '').split(':')[0] ?? '', 'brittle'));
    await source.publisher.publish(await source.reader.head(), [draftOf(EDITS)]);
    expect(await status(repository)).toBe('');
  });
});
