import { execFileSync } from 'node:child_process';
import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { CloneSource } from '../../../../src/source/git/clone/clone.ts';
import { moveRefs } from '../../../../src/source/git/refs/move.ts';
import { syncRef } from '../../../../src/source/git/refs/sync.ts';
import { refTips } from '../../../../src/source/git/refs/tips.ts';
import type { Head } from '../../../../src/source/source.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository } from '../../../support/git.ts';
import { HAS_REFTABLE, REFTABLE } from '../../../support/reftable.ts';
import { recordDraft } from '../record/record-draft.ts';
import { draftOf, newRepository, openSource, publishOne } from '../support.ts';

const FILES = { 'ds/apps/web.yaml': 'a: web\n', 'else.txt': 'e\n' };
const EDITS = { 'apps/web.yaml': 'a: web\nb: 1\n' };

if (!HAS_REFTABLE) process.stdout.write('tests of ref tables are left out: git 2.45 or newer has them\n');

/** Whether this git can move refs between files and tables (2.48 and newer). */
const CAN_MIGRATE = isAtLeast(2, 48);

/** git before 2.45 cannot make such a repository, nor work in one. */
describe.skipIf(!HAS_REFTABLE)('a repository that keeps its refs in tables', () => {
  it.each(['sha1', 'sha256'])('takes writes to its branch, with %s ids', async (format) => {
    const { repository, source } = await open(`--object-format=${format}`);
    const id = await publishOne(source, EDITS);
    expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: id });
    expect(await repository.git('rev-parse', 'main')).toBe(id);
    expect(await repository.git('status', '--porcelain')).toBe('');
  });

  it('takes its first commit', async () => {
    const repository = await newRepository(REFTABLE);
    const source = await openSource(repository.folder);
    expect(await source.reader.head()).toEqual({ branch: 'refs/heads/main', revision: null });
    const id = await publishOne(source, { 'apps/web.yaml': 'a' });
    expect(await repository.git('rev-parse', 'main')).toBe(id);
  });

  const COMMIT = ['commit', '--allow-empty', '-m', 'x'];

  it.each([
    ['a commit', [COMMIT]],
    ['a switch to another branch', [['checkout', '-q', '-b', 'other']]],
    ['a commit after the tables were joined', [['pack-refs'], COMMIT]],
  ])('is watched: the head is read again after %s', async (_, acts) => {
    const { repository, source } = await open();
    const heads = await watchHeads(source);
    for (const args of acts) await repository.git(...args);
    await expectLastHead(heads, repository);
  });

  it.skipIf(!CAN_MIGRATE)('is watched while all its refs move to files', async () => {
    const { repository, source } = await open();
    const heads = await watchHeads(source);
    await repository.git('refs', 'migrate', '--ref-format=files');
    await repository.git(...COMMIT);
    await expectLastHead(heads, repository);
  });

  it.skipIf(!CAN_MIGRATE)('is watched and written to after its refs moved from files to tables', async () => {
    const repository = await newRepository('--ref-format=files');
    await repository.commit(FILES);
    const source = await openSource(join(repository.folder, 'ds'));
    await publishOne(source, EDITS);
    const heads = await watchHeads(source);
    await repository.git('refs', 'migrate', REFTABLE);
    await source.reader.head();
    const id = await repository.commit({ 'ds/apps/web.yaml': 'c\n' });
    await vi.waitFor(() => expect(heads.at(-1)?.revision).toBe(id), { timeout: 60_000 });
    expect(await repository.git('rev-parse', `${await publishOne(source, EDITS)}^`)).toBe(id);
  });

  it('is watched and written to in a linked work tree', async () => {
    const { repository } = await open();
    const linked = repositoryAt(join(await temporaryFolder(), 'linked'));
    await repository.git('worktree', 'add', '--quiet', '-b', 'side', linked.folder);
    const source = await openSource(join(linked.folder, 'ds'));
    const onChange = vi.fn();
    const watcher = await source.watch({ onChange, onTrouble: () => undefined });
    onTestFinished(() => watcher.close());
    const id = await publishOne(source, EDITS);
    expect(await linked.git('rev-parse', 'side', 'HEAD')).toBe(`${id}\n${id}`);
    expect(await linked.git('status', '--porcelain')).toBe('');
    onChange.mockClear();
    await linked.git('checkout', '--quiet', '--detach');
    await vi.waitFor(() => expect(onChange).toHaveBeenCalled(), { timeout: 60_000 });
    expect(await source.reader.head()).toEqual({ branch: null, revision: id });
  });

  it('takes writes to a branch that GIT_BRANCH names by a symbolic ref', async () => {
    const { repository } = await open();
    await repository.git('symbolic-ref', 'refs/heads/master', 'refs/heads/main');
    const source = await openSource(join(repository.folder, 'ds'), 'master');
    expect((await source.reader.head()).branch).toBe('refs/heads/main');
    await publishOne(source, EDITS);
    expect(await repository.git('status', '--porcelain')).toBe('');
  });

  it('keeps the record of ids, and refuses a write if another process has written or deleted it', async () => {
    const { repository, source } = await open();
    const draft = recordDraft({ 'ids.json': '{}' }, null);
    const tip = await source.record.write(draft);
    expect(await source.record.read()).toMatchObject({ tip, files: draft.files });
    await expect(source.record.write(draft)).rejects.toMatchObject({ kind: 'moved-on' });
    await repository.git('update-ref', '-d', source.record.name);
    await expect(source.record.write({ ...draft, base: tip })).rejects.toMatchObject({
      kind: 'moved-on',
    });
  });

  it('rejects a write as moved-on if the branch was moved or deleted in the meantime', async () => {
    const { repository, source } = await open();
    const base = await source.reader.head();
    await repository.commit({ 'else.txt': 'f\n' });
    const late = source.publisher.publish(base, [draftOf(EDITS)]);
    await expect(late).rejects.toMatchObject({ kind: 'moved-on' });
    await repository.git('update-ref', '-d', 'refs/heads/main');
    const gone = source.publisher.publish(base, [draftOf(EDITS)]);
    await expect(gone).rejects.toMatchObject({ kind: 'moved-on' });
  });

  it('refuses a write while another process holds the lock of the tables, and changes nothing', async () => {
    const { repository, source } = await open();
    const lock = `${repository.folder}/.git/reftable/tables.list.lock`;
    await writeFile(lock, '');
    await expect(publishOne(source, EDITS)).rejects.toMatchObject({ kind: 'conflict' });
    expect(await repository.git('status', '--porcelain')).toBe('');
    await rm(lock);
    const id = await publishOne(source, EDITS);
    expect(await repository.git('rev-parse', 'main')).toBe(id);
  });

  it('moves several refs all or none', async () => {
    const { repository, source } = await open();
    const tip = await repository.git('rev-parse', 'main');
    const [one, other] = ['refs/holdfast/one', 'refs/holdfast/other'];
    await moveRefs(source.repository, [
      { ref: one, to: tip, expected: null },
      { ref: other, to: tip },
    ]);
    const late = moveRefs(source.repository, [
      { ref: one, to: null },
      { ref: other, to: tip, expected: null },
    ]);
    await expect(late).rejects.toThrow('reference already exists');
    expect(await refTips(source.repository, [one, other])).toEqual([tip, tip]);
    await moveRefs(source.repository, [
      { ref: one, to: null },
      { ref: other, to: null, expected: tip },
    ]);
    expect(await refTips(source.repository, [one, other])).toEqual([null, null]);
  });
});

it('syncRef rejects if the ref tables cannot be listed, since the ref may not be on disk', async () => {
  const commonFolder = await temporaryFolder();
  await symlink('reftable', join(commonFolder, 'reftable'));
  await expect(syncRef({ commonFolder }, 'refs/heads/main')).rejects.toMatchObject({ code: 'ELOOP' });
});

async function open(...options: string[]) {
  const repository = await newRepository(REFTABLE, ...options);
  await repository.commit(FILES);
  return { repository, source: await openSource(join(repository.folder, 'ds')) };
}

/** The head as it is now, and as it is read after each event of a watch. While refs migrate it cannot be read. */
async function watchHeads({ reader, watch }: CloneSource): Promise<Head[]> {
  const heads = [await reader.head()];
  const reads: Promise<unknown>[] = [];
  const read = (): Promise<unknown> =>
    reader.head().then(
      (head) => heads.push(head),
      () => undefined,
    );
  const watcher = await watch({ onChange: () => void reads.push(read()), onTrouble: () => undefined });
  onTestFinished(async () => {
    await watcher.close();
    // A read after the reader is closed would start git again.
    await Promise.all(reads);
  });
  return heads;
}

async function expectLastHead(heads: readonly Head[], { git }: TestRepository): Promise<void> {
  const head = { branch: await git('symbolic-ref', 'HEAD'), revision: await git('rev-parse', 'HEAD') };
  await vi.waitFor(() => expect(heads.at(-1)).toEqual(head), { timeout: 60_000 });
}

function isAtLeast(major: number, minor: number): boolean {
  const version = execFileSync('git', ['version'], { encoding: 'utf8' });
  const [first = 0, second = 0] = (/(\d+)\.(\d+)/.exec(version) ?? []).slice(1).map(Number);
  return first > major || (first === major && second >= minor);
}
