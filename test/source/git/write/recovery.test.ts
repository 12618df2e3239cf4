import { writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { faultsAt, machineWith, openSource, publishOne, read, restart, status, write } from '../support.ts';
import { EDITS, FILES, interruptedSource, interruptWrite, start } from './interrupted-write.ts';

describe('an interrupted write', () => {
  it.each(['commit-written', 'switch-noted', 'tree-switched'] as const)(
    'at %s is not published, and the next start removes all traces of it',
    async (point) => {
      const { repository, base, source } = await start(point);
      await interruptWrite(source);
      const next = await restart(repository);
      expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
      expect(await status(repository)).toBe('');
      expect(await read(repository, 'ds/apps/old.yaml')).toBe('a: old\n');
      await expect(readFile(join(repository.folder, 'ds/apps/n'))).rejects.toMatchObject({ code: 'ENOENT' });
      await publishOne(next, EDITS);
      expect(await status(repository)).toBe('');
      expect(await repository.show('ds/apps/web.yaml')).toBe(EDITS['apps/web.yaml']);
    },
  );

  it.each(['branch-moved', 'branch-synced', 'publish-done'] as const)(
    'at %s is published, and stays published after the next start',
    async (point) => {
      const { repository, base, source } = await start(point);
      await interruptWrite(source);
      const head = await repository.git('rev-parse', 'HEAD');
      await restart(repository);
      expect(await repository.git('rev-parse', 'HEAD', 'HEAD^')).toBe(`${head}\n${base}`);
      expect(await status(repository)).toBe('');
    },
  );

  it('is undone by the next write, and reported, if a start failed to undo it', async () => {
    const { repository, base, source } = await start('undo-begins');
    await interruptWrite(await interruptedSource(repository, 'tree-switched'));
    await expect(source.recover()).rejects.toMatchObject({ kind: 'unavailable' });
    const undone: string[] = [];
    const next = await openSource(join(repository.folder, 'ds'), null, {
      onUndone: ({ commit }) => undone.push(commit),
    });
    const id = await publishOne(next, { 'y.yaml': 'y' });
    expect(await repository.git('rev-parse', `${id}^`)).toBe(base);
    expect(await repository.git('show', '--name-only', '--format=', 'HEAD')).toBe('ds/y.yaml');
    expect(await status(repository)).toBe('');
    expect(undone).toEqual([expect.stringMatching(/^[0-9a-f]{40}$/)]);
  });

  it('is undone even if a user removed the empty note file before it', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const source = await openSource(join(repository.folder, 'ds'));
    const base = await publishOne(source, { 'y.yaml': 'y' });
    await rm(join(repository.folder, '.git/holdfast-switch'));
    // git does not move a branch whose reflog it cannot write.
    const logs = join(repository.folder, '.git/logs');
    await rename(logs, `${logs}-away`);
    await writeFile(logs, '');
    await expect(publishOne(source, EDITS)).rejects.toMatchObject({ kind: 'unavailable' });
    await rm(logs);
    await rename(`${logs}-away`, logs);
    expect(await status(repository)).toBe('');
    const id = await publishOne(source, { 'apps/web.yaml': 'a: web\nb: 2\n' });
    expect(await repository.git('rev-parse', `${id}^`)).toBe(base);
    expect(await status(repository)).toBe('');
  });

  it('is undone even if its git left a lock of the second index, about which git prints nothing', async () => {
    const { repository, base, source } = await start('tree-switched');
    await interruptWrite(source);
    await writeFile(join(repository.folder, '.git/holdfast-index.lock'), 'half an index');
    // git writes the index only if the times of a file have changed.
    const yesterday = new Date(Date.now() - 86_400_000);
    await utimes(join(repository.folder, 'ds/apps/cron.yaml'), yesterday, yesterday);
    await restart(repository);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await status(repository)).toBe('');
  });

  it('is not undone while git cannot tell whether it was published', async () => {
    const { repository, source } = await start('tree-switched');
    await interruptWrite(source);
    const machine = await machineWith('[ "$1" != merge-base ] || exit 128');
    const next = await openSource(join(repository.folder, 'ds'), null, { machine });
    await expect(next.recover()).rejects.toMatchObject({ kind: 'unavailable' });
    expect(await read(repository, 'ds/apps/web.yaml')).toBe(EDITS['apps/web.yaml']);
    await restart(repository);
    expect(await status(repository)).toBe('');
  });

  it('of another process is undone if its note appears during a write, which rejects as moved-on', async () => {
    const { repository, base, source } = await start('tree-switched');
    await interruptWrite(source);
    const note = join(repository.folder, '.git/holdfast-switch');
    const left = await readFile(note);
    await restart(repository);
    const next = await openSource(join(repository.folder, 'ds'), null, {
      faults: faultsAt('commit-written', () => writeFileSync(note, left)),
    });
    await expect(publishOne(next, { 'y.yaml': 'y' })).rejects.toMatchObject({ kind: 'moved-on' });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await status(repository)).toBe('');
  });

  it('of another process is still undone after a write to a branch that is not checked out', async () => {
    const { repository, base, source } = await start('tree-switched');
    await repository.git('branch', 'side');
    await interruptWrite(source);
    const note = join(repository.folder, '.git/holdfast-switch');
    const left = await readFile(note);
    await writeFile(note, '');
    const next = await openSource(join(repository.folder, 'ds'), 'side', {
      faults: faultsAt('commit-written', () => writeFileSync(note, left)),
    });
    await publishOne(next, { 'y.yaml': 'y' });
    expect(await next.recover()).toEqual({ commit: expect.any(String) });
    expect(await repository.git('rev-parse', 'HEAD', 'side^')).toBe(`${base}\n${base}`);
    expect(await status(repository)).toBe('');
  });

  it('is not undone, and no write begins, while its note cannot be read', async () => {
    const { repository, source } = await start('tree-switched');
    await interruptWrite(source);
    const note = join(repository.folder, '.git/holdfast-switch');
    await rename(note, `${note}-away`);
    await mkdir(note);
    const next = await openSource(join(repository.folder, 'ds'));
    await expect(next.recover()).rejects.toMatchObject({ kind: 'unavailable' });
    await expect(publishOne(next, { 'y.yaml': 'y' })).rejects.toMatchObject({ kind: 'unavailable' });
    await rm(note, { recursive: true });
    await rename(`${note}-away`, note);
    expect(await next.recover()).toEqual({ commit: expect.any(String) });
    expect(await status(repository)).toBe('');
  });

  it('leaves nothing to undo if it was cut short while it wrote its note', async () => {
    const { repository, base, source } = await start('switch-noted');
    await interruptWrite(source);
    const note = join(repository.folder, '.git/holdfast-switch');
    await truncate(note, 50);
    const next = await openSource(join(repository.folder, 'ds'));
    expect(await next.recover()).toBeNull();
    const id = await publishOne(next, EDITS);
    expect(await repository.git('rev-parse', `${id}^`)).toBe(base);
    expect(await status(repository)).toBe('');
  });

  it('is undone by a later start if the undoing was interrupted as well', async () => {
    const { repository, source } = await start('tree-switched');
    await interruptWrite(source);
    await expect((await interruptedSource(repository, 'undo-done')).recover()).rejects.toThrow();
    await restart(repository);
    expect(await status(repository)).toBe('');
  });

  it('to a branch without commits leaves nothing staged, and can be made again', async () => {
    const repository = await testRepository();
    await mkdir(join(repository.folder, 'ds'));
    await interruptWrite(await interruptedSource(repository, 'tree-switched'), { 'apps/web.yaml': 'w\n' });
    expect(await status(repository)).toBe('A  ds/apps/web.yaml');
    const next = await restart(repository);
    expect(await status(repository)).toBe('');
    await publishOne(next, { 'apps/web.yaml': 'w\n' });
    expect(await repository.show('ds/apps/web.yaml')).toBe('w\n');
  });

  it('to files outside a sparse checkout is undone, and they stay outside', async () => {
    const { repository, source } = await start('tree-switched');
    await repository.git('sparse-checkout', 'set', 'elsewhere');
    await interruptWrite(source);
    await restart(repository);
    expect(await status(repository)).toBe('');
    expect(await read(repository, 'ds/apps/web.yaml')).toBeNull();
    expect(await repository.git('diff', '--cached', '--name-only')).toBe('');
  });

  it('is reported once, by its commit, when it is undone', async () => {
    const { repository, source } = await start('tree-switched');
    await interruptWrite(source);
    const next = await openSource(join(repository.folder, 'ds'));
    const commit = await repository.git('rev-parse', 'refs/holdfast/publishing');
    expect(await next.recover()).toEqual({ commit });
    expect(await next.recover()).toBeNull();
  });
});

describe('an interrupted write whose commit a user has pruned', () => {
  async function removeCommit(repository: TestRepository): Promise<void> {
    const { git, folder } = repository;
    await git('update-ref', '-d', 'refs/holdfast/publishing');
    const packs = join(folder, '.git/objects/pack');
    for (const name of await readdir(packs)) if (name.endsWith('.keep')) await rm(join(packs, name));
    await git('reflog', 'expire', '--expire=now', '--all');
    await git('gc', '--quiet', '--prune=now');
  }

  it.each([
    ['a reset', ['reset', '--quiet', '--hard']],
    ['a commit of its changes', ['commit', '--quiet', '-m', 'mine']],
  ])('leaves nothing to undo after %s', async (_, work) => {
    const { repository, source } = await start('tree-switched');
    await interruptWrite(source);
    await source.close();
    await repository.git(...work);
    await removeCommit(repository);
    const next = await restart(repository);
    await publishOne(next, { 'apps/web.yaml': 'c\n' });
    expect(await status(repository)).toBe('');
  });

  it('makes the next write a conflict that names its files and the note, until a reset', async () => {
    const { repository, source } = await start('tree-switched');
    await interruptWrite(source);
    await source.close();
    await removeCommit(repository);
    const next = await openSource(join(repository.folder, 'ds'));
    await expect(publishOne(next, { 'apps/cron.yaml': 'c\n' })).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringMatching(/ds\/apps\/web.yaml.*\.git\/holdfast-switch/),
    });
    await repository.git('reset', '--quiet', '--hard');
    await publishOne(next, { 'apps/cron.yaml': 'c\n' });
    expect(await status(repository)).toBe('');
  });
});

describe('a switch of the work tree that was cut off in the middle', () => {
  /** Leaves what a killed `read-tree` leaves: a new file, two half-written ones, a missing one, and the old index. */
  async function cutOff(repository: TestRepository): Promise<void> {
    await interruptWrite(await interruptedSource(repository, 'switch-noted'));
    await rm(join(repository.folder, 'ds/apps/web.yaml'));
    await write(repository, 'ds/apps/web.yaml', 'a: we');
    await rm(join(repository.folder, 'ds/apps/old.yaml'));
    await write(repository, 'ds/apps/n/new.yaml', 'n\n');
    await write(repository, 'ds/x.yaml', '');
  }

  it('is undone: a half-written, a complete, an empty and a missing file', async () => {
    const { repository, base } = await start('switch-noted');
    await cutOff(repository);
    await restart(repository);
    expect(await status(repository)).toBe('');
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a: web\n');
  });

  it.each([
    [
      'is undone after a loss of power, even if the index is complete',
      'an earlier boot',
      ['ds/x.yaml'],
      '',
      'a: web\n',
    ],
    ['is undone after a loss of power that has only emptied a file', 'an earlier boot', [], '', 'a: web\n'],
    ['leaves alone a file that a user emptied since', null, [], ' M ds/apps/web.yaml', ''],
  ])('%s', async (_name, boot, lost, left, text) => {
    const { repository, source } = await start('tree-switched');
    await interruptWrite(source);
    const note = join(repository.folder, '.git/holdfast-switch');
    const noted = JSON.parse(await readFile(note, 'utf8'));
    await writeFile(note, JSON.stringify({ ...noted, boot: boot ?? noted.boot }));
    await write(repository, 'ds/apps/web.yaml', '');
    for (const path of lost) await rm(join(repository.folder, path));
    await restart(repository);
    expect(await status(repository)).toBe(left);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe(text);
  });

  it('is undone if the checkout converts line endings', async () => {
    const { repository } = await start('switch-noted');
    await repository.commit({ '.gitattributes': '*.yaml text eol=crlf\n' });
    await interruptWrite(await interruptedSource(repository, 'switch-noted'));
    await rm(join(repository.folder, 'ds/apps/web.yaml'));
    await write(repository, 'ds/apps/web.yaml', 'a: web\r\nb: 1\r\n');
    await restart(repository);
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a: web\r\n');
    expect(await status(repository)).toBe('');
  });

  it('leaves alone a file that had the new content before the write began', async () => {
    const { repository } = await start('switch-noted');
    await write(repository, 'ds/apps/web.yaml', EDITS['apps/web.yaml']);
    await interruptWrite(await interruptedSource(repository, 'switch-noted'));
    await restart(repository);
    expect(await status(repository)).toBe(' M ds/apps/web.yaml');
    expect(await read(repository, 'ds/apps/web.yaml')).toBe(EDITS['apps/web.yaml']);
  });

  it('leaves alone what a user wrote since', async () => {
    const { repository } = await start('switch-noted');
    await cutOff(repository);
    await write(repository, 'ds/apps/web.yaml', 'mine\n');
    await write(repository, 'ds/x.yaml', 'my own x\n');
    await restart(repository);
    expect(await status(repository)).toBe(' M ds/apps/web.yaml\n?? ds/x.yaml');
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('mine\n');
    expect(await read(repository, 'ds/x.yaml')).toBe('my own x\n');
  });
});
