import { spawnSync } from 'node:child_process';
import { access, chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { FaultPoint } from '../../../../src/faults.ts';
import { type CheckoutSource, openCheckout } from '../../../../src/source/git/checkout.ts';
import type { Head } from '../../../../src/source/source.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { type TestRepository, testRepository } from '../../../support/git.ts';
import { draftOf, MACHINE, openSource, publishOne } from '../support.ts';

const FILES = { 'ds/apps/web.yaml': 'a\n', 'else.txt': 'e\n' };
const OTHERS = { 'ds/apps/web.yaml': 'a\n', 'else.txt': 'other\n' };
const WRITE = { 'apps/web.yaml': 'b\n', 'apps/new.yaml': 'n\n' };

const status = ({ git }: TestRepository): Promise<string> =>
  git('status', '--porcelain', '--untracked-files=all');
const read = ({ folder }: TestRepository, path: string) => readFile(join(folder, path), 'utf8');
const headOf = ({ git }: TestRepository): Promise<string> => git('symbolic-ref', 'HEAD');

/** Two branches that differ outside of the folder; `main` is checked out. */
async function twoBranches() {
  const repository = await testRepository();
  const base = await repository.commit(FILES);
  await repository.git('switch', '--quiet', '-c', 'other');
  const other = await repository.commit(OTHERS);
  await repository.git('switch', '--quiet', 'main');
  return { repository, base, other };
}

/** A source at which a person does something each time a write comes by a point. */
async function interrupted(
  repository: TestRepository,
  point: FaultPoint,
  work: () => void,
  branch: string | null = null,
  machine = MACHINE,
): Promise<CheckoutSource> {
  const source = await openCheckout(join(repository.folder, 'ds'), branch, machine, {
    faults: {
      pass: (passed) => {
        if (passed === point) work();
      },
    },
  });
  onTestFinished(() => source.close());
  return source;
}

/** Runs git to its end before anything else goes on; resolves to its exit code. */
function gitNow({ folder }: TestRepository, ...args: string[]): number | null {
  return spawnSync('git', args, { cwd: folder, env: { PATH: process.env['PATH'], HOME: '/nonexistent' } })
    .status;
}

/** A person's switch of branches that holds the lock of the index until it is let go. */
async function slowSwitch(repository: TestRepository, branch: string) {
  const folder = await temporaryFolder();
  const held = join(folder, 'held');
  const slow = join(folder, 'slow');
  await writeFile(slow, `#!/bin/sh\n: > "${held}"\nwhile [ -e "${held}" ]; do sleep 0.05; done\ncat\n`);
  await chmod(slow, 0o755);
  await writeFile(join(repository.folder, '.git/info/attributes'), 'else.txt filter=slow\n');
  const ended = repository.git('-c', `filter.slow.smudge=${slow}`, 'checkout', '--quiet', branch);
  await expect
    .poll(
      () =>
        access(held).then(
          () => true,
          () => false,
        ),
      { timeout: 60_000 },
    )
    .toBe(true);
  return {
    finish: async () => {
      await rm(held);
      await ended;
    },
  };
}

/** A source, and a promise that resolves when a write has looked at everything and goes for the lock of the index. */
async function goingForLock(repository: TestRepository, branch: string | null = null) {
  let arrive: () => void = () => undefined;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  return { source: await interrupted(repository, 'commit-written', arrive, branch), arrived };
}

describe('a person who switches branches while a write is on its way', () => {
  it('slowly, away from the branch: nothing is written, neither there nor here', async () => {
    const { repository, base, other } = await twoBranches();
    const { source, arrived } = await goingForLock(repository);
    const head = await source.reader.head();
    const person = await slowSwitch(repository, 'other');
    const write = source.publisher.publish(head, [draftOf(WRITE)]).catch((error: unknown) => error);
    await arrived;
    await person.finish();
    expect(await write).toMatchObject({ kind: 'moved-on' });
    expect(await repository.git('rev-parse', 'main', 'other')).toBe(`${base}\n${other}`);
    expect(await status(repository)).toBe('');
    expect(await source.recover()).toBeNull();
  });

  it('slowly, to the branch that the manager follows: the write is made again, and leaves nothing undone', async () => {
    const { repository } = await twoBranches();
    await repository.git('checkout', '--quiet', 'other');
    const { source, arrived } = await goingForLock(repository, 'main');
    const head = await source.reader.head();
    const person = await slowSwitch(repository, 'main');
    const write = source.publisher.publish(head, [draftOf(WRITE)]).catch((error: unknown) => error);
    await arrived;
    await person.finish();
    expect(await write).toMatchObject({ kind: 'moved-on' });
    const id = await publishOne(source, WRITE);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'b\n']);
  });

  // HEAD follows a moment after the index, without its lock.
  it('to the branch in the moment when the work trees are looked at: the write is made again', async () => {
    const { repository, base } = await twoBranches();
    await repository.git('checkout', '--quiet', 'other');
    const machine = await machineWith('[ "$1" != worktree ] || env -i PATH="$PATH" git switch -q main');
    const source = await openCheckout(join(repository.folder, 'ds'), 'main', machine);
    onTestFinished(() => source.close());
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({ kind: 'moved-on' });
    expect(await repository.git('rev-parse', 'main')).toBe(base);
    const id = await publishOne(source, WRITE);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect(await status(repository)).toBe('');
  });

  it('in the moment after the index was switched for the write: it is taken back', async () => {
    const { repository, base } = await twoBranches();
    const source = await interrupted(repository, 'switch-noted', () => {
      gitNow(repository, 'symbolic-ref', 'HEAD', 'refs/heads/other');
    });
    await repository.git('read-tree', '-u', '-m', 'main', 'other');
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({ kind: 'moved-on' });
    expect(await headOf(repository)).toBe('refs/heads/other');
    expect(await repository.git('rev-parse', 'main')).toBe(base);
    expect(await status(repository)).toBe('');
  });

  it('in the moment when the branch moves: the write is published there, and not left here', async () => {
    const { repository, base } = await twoBranches();
    const source = await interrupted(repository, 'tree-switched', () => {
      gitNow(repository, 'symbolic-ref', 'HEAD', 'refs/heads/other');
    });
    await repository.git('read-tree', '-u', '-m', 'main', 'other');
    const id = await publishOne(source, WRITE);
    expect(await repository.git('rev-parse', 'main', 'main^')).toBe(`${id}\n${base}`);
    expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'a\n']);
    expect(await source.recover()).toBeNull();
  });

  it('to the branch in the moment when it moves: index and files follow', async () => {
    const { repository } = await twoBranches();
    await repository.git('symbolic-ref', 'HEAD', 'refs/heads/other');
    const follow = () => void gitNow(repository, 'symbolic-ref', 'HEAD', 'refs/heads/main');
    const source = await interrupted(repository, 'tree-switched', follow, 'main');
    const id = await publishOne(source, WRITE);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'b\n']);
  });

  it('to the branch in that moment, with work of their own on the file: the branch goes back', async () => {
    const { repository, base } = await twoBranches();
    await repository.git('symbolic-ref', 'HEAD', 'refs/heads/other');
    await writeFile(join(repository.folder, 'ds/apps/web.yaml'), 'mine\n');
    const follow = () => void gitNow(repository, 'symbolic-ref', 'HEAD', 'refs/heads/main');
    const source = await interrupted(repository, 'tree-switched', follow, 'main');
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await status(repository)).toBe('M ds/apps/web.yaml'.padStart(19));
    expect(await read(repository, 'ds/apps/web.yaml')).toBe('mine\n');
  });

  it('to the branch in that moment, and git fails after it has switched: the branch goes back, and so does the index', async () => {
    const { repository, base } = await twoBranches();
    await repository.git('symbolic-ref', 'HEAD', 'refs/heads/other');
    const follow = () => void gitNow(repository, 'symbolic-ref', 'HEAD', 'refs/heads/main');
    const machine = await machineWith(FAILS_ONCE);
    await writeFile(join(repository.folder, '.git/fails'), '');
    const source = await interrupted(repository, 'tree-switched', follow, 'main', machine);
    await expect(publishOne(source, WRITE)).rejects.toMatchObject({ kind: 'unavailable', details: {} });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'a\n']);
    expect(await source.recover()).toBeNull();
  });
});

/** `read-tree` does what it should, and says that it failed; the next one is as ever. */
const FAILS_ONCE = '[ "$1" != read-tree ] || ! rm .git/fails 2>/dev/null || { git "$@"; exit 1; }';

/** A machine whose git does not answer as it should where these lines of shell, which see its arguments, say so. */
async function machineWith(lines: string): Promise<typeof MACHINE> {
  const folder = await temporaryFolder();
  const path = process.env['PATH'];
  await writeFile(join(folder, 'git'), `#!/bin/sh\nPATH='${path}'\n${lines}\nexec git "$@"\n`, {
    mode: 0o755,
  });
  return { ...MACHINE, env: { PATH: `${folder}:${path}` } };
}

async function withGit(repository: TestRepository, lines: string): Promise<CheckoutSource> {
  const machine = await machineWith(lines);
  const source = await openCheckout(join(repository.folder, 'ds'), null, machine);
  onTestFinished(() => source.close());
  return source;
}

const DIES = '[ "$1" != update-ref ] || kill -9 $$';
/** Where the refs are while nobody can read them. */
const HIDDEN_REFS = '.git/hidden-refs';
const PACKED_REFS = '.git/packed-refs';
const IS_DUMB = `[ "$1" != for-each-ref ] || [ ! -e ${HIDDEN_REFS} ] || exit 128`;

/** From now on nobody can say where the branch is. Resolves to where it was. */
async function turnDumb({ git, folder }: TestRepository, source: CheckoutSource): Promise<Head> {
  await git('pack-refs', '--all', '--prune');
  const head = await source.reader.head();
  await rename(join(folder, PACKED_REFS), join(folder, HIDDEN_REFS));
  return head;
}

describe('a git that dies when it is to move the branch', () => {
  it('and left it where it was: nothing is published, and nothing is left in the checkout', async () => {
    const { repository, base } = await twoBranches();
    const source = await withGit(repository, DIES);
    const refused = await publishOne(source, WRITE).catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: 'unavailable' });
    expect(refused).not.toHaveProperty('details.commits');
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect([await status(repository), await source.recover()]).toEqual(['', null]);
  });

  it('and there was none yet: nothing is published either', async () => {
    const repository = await testRepository();
    await mkdir(join(repository.folder, 'ds'));
    const source = await withGit(repository, DIES);
    const refused = await publishOne(source, WRITE).catch((error: unknown) => error);
    expect(refused).toMatchObject({ kind: 'unavailable' });
    expect(refused).not.toHaveProperty('details.commits');
    expect([await status(repository), await source.recover()]).toEqual(['', null]);
  });

  it('and nobody can say where it is: the reply names the commits, for they may be published', async () => {
    const { repository, base } = await twoBranches();
    const source = await withGit(repository, `${DIES}\n${IS_DUMB}`);
    const head = await turnDumb(repository, source);
    const refused = await publishOne(source, WRITE, head).catch((error: unknown) => error);
    const made = await repository.git('rev-parse', 'refs/holdfast/publishing');
    expect(refused).toMatchObject({ kind: 'unavailable', details: { commits: [made] } });
    // Nor can it be undone before somebody can.
    await rename(join(repository.folder, HIDDEN_REFS), join(repository.folder, PACKED_REFS));
    expect(await source.recover()).toEqual({ commit: made });
    expect(await repository.git('rev-parse', 'HEAD')).toBe(base);
    expect(await status(repository)).toBe('');
  });
});

it('where nobody can say where the branch is, uncommitted work is a conflict, and no reason to try again', async () => {
  const { repository } = await twoBranches();
  const source = await withGit(repository, IS_DUMB);
  const head = await turnDumb(repository, source);
  await writeFile(join(repository.folder, 'ds/apps/web.yaml'), 'mine\n');
  await expect(publishOne(source, WRITE, head)).rejects.toMatchObject({ kind: 'conflict' });
  expect(await read(repository, 'ds/apps/web.yaml')).toBe('mine\n');
});

describe('after the branch has moved', () => {
  it('a person packs refs, and the folder of the branch is gone: the write is done', async () => {
    const { repository } = await twoBranches();
    await repository.git('branch', '--move', 'main', 'team/main');
    const source = await interrupted(repository, 'branch-moved', () => {
      gitNow(repository, 'pack-refs', '--all', '--prune');
    });
    const id = await publishOne(source, WRITE);
    expect(await repository.git('rev-parse', 'team/main')).toBe(id);
    await expect(access(join(repository.folder, '.git/refs/heads/team'))).rejects.toMatchObject({
      code: 'ENOENT',
    });
    expect(await status(repository)).toBe('');
  });

  it('whatever fails names the commits', async () => {
    const { repository } = await twoBranches();
    const source = await interrupted(repository, 'branch-synced', () => {
      throw new Error('the disk is gone');
    });
    const refused = await publishOne(source, WRITE).catch((error: unknown) => error);
    const head = await repository.git('rev-parse', 'HEAD');
    expect(refused).toMatchObject({ kind: 'unavailable', details: { commits: [head] } });
  });
});

describe('what a git left that was killed', () => {
  it("under the names that the manager uses is in nobody's way", async () => {
    const { repository } = await twoBranches();
    for (const name of ['holdfast-index', 'holdfast-index.lock'])
      await writeFile(join(repository.folder, '.git', name), 'half an index');
    const source = await openSource(join(repository.folder, 'ds'));
    const id = await publishOne(source, WRITE);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(id);
    expect(await status(repository)).toBe('');
  });
});

describe('between the switch of the checkout and the move of the branch', () => {
  it.each([
    ['a reset', ['reset', '--quiet', '--hard']],
    ['a stash', ['stash', '--quiet']],
    ['a commit', ['-c', 'user.name=p', '-c', 'user.email=p@x', 'commit', '--quiet', '-m', 'mine']],
    ['a switch', ['checkout', '--quiet', '-f', 'other']],
  ])('%s finds the lock of the index, and the write comes to its end', async (_, args) => {
    const { repository, base } = await twoBranches();
    const codes: (number | null)[] = [];
    const source = await interrupted(repository, 'tree-switched', () => {
      codes.push(gitNow(repository, ...args));
    });
    const id = await publishOne(source, WRITE);
    expect(codes).not.toContain(0);
    expect(await repository.git('rev-parse', 'HEAD', 'HEAD^')).toBe(`${id}\n${base}`);
    expect([await status(repository), await read(repository, 'ds/apps/web.yaml')]).toEqual(['', 'b\n']);
  });

  it.each([{ split: 'true' }, { split: 'false' }])(
    'nothing of the lock is left, with split indexes ($split)',
    async ({ split }) => {
      const { repository } = await twoBranches();
      await repository.git('config', 'core.splitIndex', split);
      await repository.git('update-index', '--force-write-index');
      const source = await openSource(join(repository.folder, 'ds'));
      for (const text of ['1', '2', '3']) await publishOne(source, { 'apps/web.yaml': text });
      expect(await status(repository)).toBe('');
      for (const name of ['index.lock', 'holdfast-index', 'holdfast-index.lock'])
        await expect(access(join(repository.folder, '.git', name))).rejects.toMatchObject({ code: 'ENOENT' });
    },
  );
});
