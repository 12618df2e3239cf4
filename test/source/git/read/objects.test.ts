import { writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { openObjects } from '../../../../src/source/git/read/objects.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { contextAt, notingGit, repositoryOfFile } from '../support.ts';

const repository = await repositoryOfFile();
const revision = await repository.commit({
  'a.txt': 'one\n',
  'empty.txt': '',
  'folder/with space.txt': 'two\n',
  'größe.txt': 'three\n',
  'binary.bin': new Uint8Array([0, 1, 10, 255, 10, 0]),
});
const idOf = (path: string): Promise<string> => repository.git('rev-parse', `HEAD:${path}`);
const tree = await idOf('folder');
const objects = openObjects(contextAt(repository.folder));
afterAll(() => objects.close());

describe('info', () => {
  it.each([
    ['a commit', 'HEAD^{commit}', 'commit'],
    ['a commit by its id', revision, 'commit'],
    ['a branch', 'refs/heads/main^{commit}', 'commit'],
    ['a tree', 'HEAD:folder', 'tree'],
    ['the top tree', `${revision}^{tree}`, 'tree'],
    ['a file', 'HEAD:a.txt', 'blob'],
    ['a file with a space in its name', 'HEAD:folder/with space.txt', 'blob'],
    ['a file with a name in UTF-8', 'HEAD:größe.txt', 'blob'],
  ])('finds %s', async (_, expression, type) => {
    const id = await repository.git('rev-parse', expression);
    expect(await objects.info(expression)).toEqual({ id, type, size: expect.any(Number) });
  });

  it.each([
    ['a missing path', 'HEAD:none'],
    ['a missing branch', 'refs/heads/none^{commit}'],
    ['a missing object', '1'.repeat(40)],
    ['a file that is requested as a commit', 'HEAD:a.txt^{commit}'],
    ['a shortened id of no object', 'dead'],
    ['an option', '--help'],
    ['a suffix without an object', '^{commit}'],
    ['a search without a match', ':/nothing of the kind'],
    ['the placeholders of a format', '%(objectname) %s'],
    ['a line break, which would start a second request', 'HEAD\ncontents HEAD'],
    ['a carriage return', 'HEAD\r'],
  ])('resolves to null for %s', async (_, expression) => {
    expect(await objects.info(expression)).toBeNull();
  });

  it('still answers after requests for missing objects', async () => {
    expect(await objects.info('HEAD')).toMatchObject({ id: revision });
  });
});

describe('contents', () => {
  it('returns the unchanged bytes of an object', async () => {
    expect([...((await objects.contents(await idOf('binary.bin'))) ?? [])]).toEqual([0, 1, 10, 255, 10, 0]);
    expect(await objects.contents(await idOf('empty.txt'))).toHaveLength(0);
  });

  it('resolves to null for a missing object', async () => {
    expect(await objects.contents('1'.repeat(40))).toBeNull();
  });

  it.each(['HEAD', 'a\nb', ''])('rejects %j, which is not an object id', async (text) => {
    await expect(async () => objects.contents(text)).rejects.toMatchObject({ kind: 'internal' });
  });

  it('rejects an object that is too large for memory, and still answers the next request', async () => {
    const folder = await temporaryFolder();
    await writeFile(`${folder}/huge`, Buffer.alloc(2 ** 26 + 1, ' '));
    const huge = await repository.git('hash-object', '-w', `${folder}/huge`);
    await expect(objects.contents(huge)).rejects.toMatchObject({
      kind: 'unavailable',
      message: `the blob ${huge} has 67108865 bytes, which is too large to read`,
    });
    expect(await objects.contents(await idOf('a.txt'))).toEqual(Buffer.from('one\n'));
  });
});

describe('blob', () => {
  it.each([
    ['just as large as allowed', 4],
    ['smaller than allowed', 1000],
  ])('returns the bytes of a blob that is %s', async (_, max) => {
    expect(await objects.blob(await idOf('a.txt'), max)).toEqual({ bytes: Buffer.from('one\n') });
  });

  it('returns only the size of a blob that is larger than allowed', async () => {
    expect(await objects.blob(await idOf('a.txt'), 3)).toEqual({ tooLarge: 4 });
  });

  it('returns the bytes of an empty blob', async () => {
    expect(await objects.blob(await idOf('empty.txt'), 0)).toEqual({ bytes: Buffer.alloc(0) });
  });

  it.each([
    ['no object', '1'.repeat(40)],
    ['a commit', revision],
    ['a tree', tree],
  ])('reports a blob as missing if the id is that of %s', async (_, id) => {
    expect(await objects.blob(id, 1000)).toEqual({ missing: true });
  });

  it('finds blobs that were added or packed after the process started', async () => {
    await objects.info('HEAD');
    await repository.commit({ 'later.txt': 'later\n' });
    const id = await idOf('later.txt');
    expect(await objects.blob(id, 100)).toEqual({ bytes: Buffer.from('later\n') });
    await repository.git('gc', '--quiet', '--prune=now');
    expect(await objects.blob(id, 100)).toEqual({ bytes: Buffer.from('later\n') });
    expect(await objects.blob(await idOf('a.txt'), 100)).toEqual({ bytes: Buffer.from('one\n') });
  });

  it('reads many blobs concurrently', async () => {
    const ids = await Promise.all(['a.txt', 'empty.txt', 'binary.bin'].map(idOf));
    const all = Array.from({ length: 300 }, (_, index) => ids[index % 3] as string);
    const sizes = (await Promise.all(all.map((id) => objects.blob(id, 100)))).map((blob) =>
      'bytes' in blob ? blob.bytes.length : null,
    );
    expect(sizes).toEqual(all.map((_, index) => [4, 0, 6][index % 3]));
  });
});

describe('openObjects', () => {
  it('repeats requests in a new process if something kills git meanwhile', async () => {
    const recorder = await notingGit();
    const reader = openObjects(recorder.use(contextAt(repository.folder)));
    onTestFinished(() => reader.close());
    const file = await idOf('a.txt');
    await reader.info('HEAD');
    const pid = (await recorder.last()) as number;
    process.kill(pid, 'SIGSTOP');
    const answers = Promise.all([reader.info(revision), reader.contents(file)]);
    process.kill(pid, 'SIGKILL');
    const [head, text] = await answers;
    expect([head?.id, text?.toString()]).toEqual([revision, 'one\n']);
  });
});
