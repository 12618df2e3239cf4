import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FaultPoint } from '../../../src/faults.ts';
import { type CheckoutSource, openCheckout } from '../../../src/source/git/checkout.ts';
import type { Machine } from '../../../src/source/git/repository.ts';
import { temporaryFolder, writeFiles } from '../../support/folder.ts';
import { type TestRepository, testRepository } from '../../support/git.ts';
import { draftOf, MACHINE, openSource } from './support.ts';

const FILES = {
  'ds/apps/web.yaml': 'a: web\n',
  'ds/apps/cron.yaml': 'a: cron\n',
  'ds/apps/old.yaml': 'a: old\n',
  'else.txt': 'e\n',
};
/** Changes one file, removes one, adds two. */
const EDITS = {
  'apps/web.yaml': 'a: web\nb: 1\n',
  'apps/old.yaml': null,
  'apps/n/new.yaml': 'n\n',
  'x.yaml': 'x\n',
};

/** A source whose writes stop for good at a point, as if the process had died there. */
async function dyingSource(repository: TestRepository, point: FaultPoint): Promise<CheckoutSource> {
  const source = await openCheckout(join(repository.folder, 'ds'), null, MACHINE, {
    faults: {
      pass: (passed) => {
        if (passed === point) throw new Error('died');
      },
    },
    onLocksCleared: () => undefined,
  });
  onTestFinished(async () => {
    await Promise.all([source.reader.close(), source.publisher.close()]);
  });
  return source;
}

async function start(point: FaultPoint) {
  const repository = await testRepository();
  const base = await repository.commit(FILES);
  return { repository, base, source: await dyingSource(repository, point) };
}

async function dieWriting(
  source: CheckoutSource,
  edits: Record<string, string | null> = EDITS,
): Promise<void> {
  await expect(source.publisher.publish(await source.reader.head(), [draftOf(edits)])).rejects.toThrow();
}

const status = ({ git }: TestRepository): Promise<string> =>
  git('status', '--porcelain', '--untracked-files=all');
const write = ({ folder }: TestRepository, path: string, text: string) =>
  writeFiles(folder, { [path]: text });
const read = ({ folder }: TestRepository, path: string) =>
  readFile(join(folder, path), 'utf8').catch(() => null);

/** Opens the folder anew, as the next start does, and lets it recover. */
async function restart(repository: TestRepository): Promise<CheckoutSource> {
  const source = await openSource(join(repository.folder, 'ds'));
  await source.recover();
  return source;
}

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
    const next = await openSource(join(repository.folder, 'ds'));
    const [id] = await next.publisher.publish(await next.reader.head(), [draftOf({ 'y.yaml': 'y' })]);
    expect(await repository.git('rev-parse', `${id}^`)).toBe(base);
    expect(await repository.git('show', '--name-only', '--format=', 'HEAD')).toBe('ds/y.yaml');
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

  it('tells which commit was undone, once', async () => {
    const { repository, source } = await start('tree-switched');
    await dieWriting(source);
    const next = await openSource(join(repository.folder, 'ds'));
    const commit = await repository.git('rev-parse', 'refs/holdfast/publishing');
    expect(await next.recover()).toEqual({ commit });
    expect(await next.recover()).toBeNull();
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

describe('work of a person around a write that died', () => {
  it('on other files stays as it is', async () => {
    const { repository, source } = await start('tree-switched');
    await write(repository, 'else.txt', 'staged');
    await repository.git('add', 'else.txt');
    await write(repository, 'else.txt', 'staged and edited');
    await write(repository, 'notes.txt', 'untracked');
    await dieWriting(source);
    await write(repository, 'ds/apps/cron.yaml', 'edited later');
    await restart(repository);
    expect(await status(repository)).toBe(' M ds/apps/cron.yaml\nMM else.txt\n?? notes.txt');
    expect(await read(repository, 'else.txt')).toBe('staged and edited');
    expect(await repository.git('show', ':else.txt')).toBe('staged');
  });

  it('on the very files, done since, stays as it is, and shows as their own change', async () => {
    const { repository, source } = await start('tree-switched');
    await dieWriting(source);
    await write(repository, 'ds/apps/web.yaml', 'mine\n');
    await write(repository, 'ds/apps/old.yaml', 'made again\n');
    await rm(join(repository.folder, 'ds/x.yaml'));
    await restart(repository);
    expect(await status(repository)).toBe(' M ds/apps/old.yaml\n M ds/apps/web.yaml');
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('mine\n');
    expect(await read(repository, 'ds/apps/old.yaml')).toBe('made again\n');
  });

  it('staged anew stays staged', async () => {
    const { repository, source } = await start('tree-switched');
    await dieWriting(source);
    await write(repository, 'ds/apps/web.yaml', 'mine\n');
    await repository.git('add', 'ds/apps/web.yaml');
    await restart(repository);
    expect(await status(repository)).toBe('M  ds/apps/web.yaml');
    expect(await repository.git('show', ':ds/apps/web.yaml')).toBe('mine');
  });

  it('committed with what lay staged keeps all of it', async () => {
    const { repository, source } = await start('tree-switched');
    await dieWriting(source);
    await write(repository, 'ds/apps/cron.yaml', 'person\n');
    await repository.git('commit', '--quiet', '-am', 'person');
    const head = await repository.git('rev-parse', 'HEAD');
    await restart(repository);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(head);
    expect(await status(repository)).toBe('');
    expect(await repository.show('ds/apps/web.yaml')).toBe(EDITS['apps/web.yaml']);
  });

  it('committed alone keeps that, and the rest goes', async () => {
    const { repository, source } = await start('tree-switched');
    await dieWriting(source);
    await write(repository, 'ds/apps/cron.yaml', 'person\n');
    await repository.git('commit', '--quiet', '-m', 'person', '--only', 'ds/apps/cron.yaml');
    await restart(repository);
    expect(await status(repository)).toBe('');
    expect(await repository.show('ds/apps/cron.yaml')).toBe('person\n');
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('a: web\n');
  });

  it('behind a link that replaced the folder is not touched', async () => {
    const { repository, source } = await start('tree-switched');
    await dieWriting(source);
    const outside = await temporaryFolder();
    await writeFiles(outside, { 'web.yaml': EDITS['apps/web.yaml'], 'n/new.yaml': 'n\n' });
    await rm(join(repository.folder, 'ds/apps'), { recursive: true });
    await symlink(outside, join(repository.folder, 'ds/apps'));
    await restart(repository);
    expect(await readFile(join(outside, 'web.yaml'), 'utf8')).toBe(EDITS['apps/web.yaml']);
    expect(await readFile(join(outside, 'n/new.yaml'), 'utf8')).toBe('n\n');
  });

  it('a commit that was published long ago and taken back by hand is not undone again', async () => {
    const repository = await testRepository();
    await repository.commit(FILES);
    const source = await openSource(join(repository.folder, 'ds'));
    await source.publisher.publish(await source.reader.head(), [draftOf(EDITS)]);
    await repository.git('reset', '--quiet', '--soft', 'HEAD^');
    const before = await status(repository);
    await restart(repository);
    expect(await status(repository)).toBe(before);
  });

  it('is byte for byte what it was, whatever was done where', async () => {
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
        await dieWriting(source);
        const mine = new Map<string, string>();
        for (const [index, { path, isStaged }] of works.entries()) {
          mine.set(path, `the work of a person, number ${index}\n`);
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
