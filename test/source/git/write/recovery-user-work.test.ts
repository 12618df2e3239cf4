import { readFile, readlink, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { FaultPoint } from '../../../../src/faults.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { testRepository } from '../../../support/git.ts';
import { openSource, publishOne, read, restart, status, write } from '../support.ts';
import { EDITS, FILES, interruptWrite, start } from './interrupted-write.ts';

describe("a user's work around an interrupted write", () => {
  it('on other files stays as it is', async () => {
    const { repository, source } = await start('tree-switched');
    await write(repository, 'else.txt', 'staged');
    await repository.git('add', 'else.txt');
    await write(repository, 'else.txt', 'staged and edited');
    await write(repository, 'notes.txt', 'untracked');
    await interruptWrite(source);
    await write(repository, 'ds/apps/cron.yaml', 'edited later');
    await restart(repository);
    expect(await status(repository)).toBe(' M ds/apps/cron.yaml\nMM else.txt\n?? notes.txt');
    expect(await read(repository, 'else.txt')).toBe('staged and edited');
    expect(await repository.git('show', ':else.txt')).toBe('staged');
  });

  it('on its files, done after the interruption, stays as it is and is shown as a change', async () => {
    const { repository, source } = await start('tree-switched');
    await interruptWrite(source);
    await write(repository, 'ds/apps/web.yaml', 'mine\n');
    await write(repository, 'ds/apps/old.yaml', 'made again\n');
    await rm(join(repository.folder, 'ds/x.yaml'));
    await restart(repository);
    expect(await status(repository)).toBe(' M ds/apps/old.yaml\n M ds/apps/web.yaml');
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('mine\n');
    expect(await read(repository, 'ds/apps/old.yaml')).toBe('made again\n');
  });

  it('on one of its files, staged after the interruption, stays staged', async () => {
    const { repository, source } = await start('tree-switched');
    await interruptWrite(source);
    await write(repository, 'ds/apps/web.yaml', 'mine\n');
    await repository.git('add', 'ds/apps/web.yaml');
    await restart(repository);
    expect(await status(repository)).toBe('M  ds/apps/web.yaml');
    expect(await repository.git('show', ':ds/apps/web.yaml')).toBe('mine');
  });

  it('committed together with the staged changes of the write is kept with them', async () => {
    const { repository, source } = await start('tree-switched');
    await interruptWrite(source);
    await write(repository, 'ds/apps/cron.yaml', 'user\n');
    await repository.git('commit', '--quiet', '-am', 'user');
    const head = await repository.git('rev-parse', 'HEAD');
    await restart(repository);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(head);
    expect(await status(repository)).toBe('');
    expect(await repository.show('ds/apps/web.yaml')).toBe(EDITS['apps/web.yaml']);
  });

  it('committed alone is kept, and the changes of the write are undone', async () => {
    const { repository, source } = await start('tree-switched');
    await interruptWrite(source);
    await write(repository, 'ds/apps/cron.yaml', 'user\n');
    await repository.git('commit', '--quiet', '-m', 'user', '--only', 'ds/apps/cron.yaml');
    await restart(repository);
    expect(await status(repository)).toBe('');
    expect(await repository.show('ds/apps/cron.yaml')).toBe('user\n');
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a: web\n');
  });

  it.each(['tree-switched', 'switch-noted'] as const)(
    'behind a symlink that replaced the folder is not touched (interrupted at %s)',
    async (point) => {
      const { repository, source } = await start(point);
      await interruptWrite(source);
      const outside = await temporaryFolder();
      await writeFiles(outside, { 'web.yaml': EDITS['apps/web.yaml'], 'n/new.yaml': 'n\n' });
      await rm(join(repository.folder, 'ds/apps'), { recursive: true });
      await symlink(outside, join(repository.folder, 'ds/apps'));
      await restart(repository);
      expect(await readlink(join(repository.folder, 'ds/apps'))).toBe(outside);
      expect(await readFile(join(outside, 'web.yaml'), 'utf8')).toBe(EDITS['apps/web.yaml']);
      expect(await readFile(join(outside, 'n/new.yaml'), 'utf8')).toBe('n\n');
    },
  );

  it('stays byte for byte as it was, in any combination of files, staging and points', async () => {
    const paths = [
      'ds/apps/web.yaml',
      'ds/apps/old.yaml',
      'ds/apps/n/new.yaml',
      'ds/apps/cron.yaml',
      'mine.txt',
    ];
    const work = fc.record({ path: fc.constantFrom(...paths), isStaged: fc.boolean() });
    const points = fc.constantFrom('commit-written', 'switch-noted', 'tree-switched', 'branch-moved');
    await fc.assert(
      fc.asyncProperty(points, fc.array(work, { maxLength: 4 }), async (point, works) => {
        const { repository, source } = await start(point as FaultPoint);
        await interruptWrite(source);
        const mine = new Map<string, string>();
        for (const [index, { path, isStaged }] of works.entries()) {
          mine.set(path, `work of the user, number ${index}\n`);
          await write(repository, path, mine.get(path) ?? '');
          if (isStaged) await repository.git('add', '--all', path);
        }
        await restart(repository);
        for (const [path, text] of mine) expect(await read(repository, path)).toBe(text);
        const others = (await status(repository)).split('\n').map((line) => line.slice(3));
        expect(others.filter((path) => path !== '' && !mine.has(path))).toEqual([]);
      }),
      { numRuns: 15 },
    );
  });
});

it('a published commit that a user took back by a soft reset is not undone a second time by a restart', async () => {
  const repository = await testRepository();
  await repository.commit(FILES);
  const source = await openSource(join(repository.folder, 'ds'));
  await publishOne(source, EDITS);
  await repository.git('reset', '--quiet', '--soft', 'HEAD^');
  const before = await status(repository);
  await restart(repository);
  expect(await status(repository)).toBe(before);
});
