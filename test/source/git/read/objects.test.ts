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
    { name: 'a commit', expression: 'HEAD^{commit}', type: 'commit' },
    { name: 'a commit by its id', expression: revision, type: 'commit' },
    { name: 'a branch', expression: 'refs/heads/main^{commit}', type: 'commit' },
    { name: 'a tree', expression: 'HEAD:folder', type: 'tree' },
    { name: 'the top tree', expression: `${revision}^{tree}`, type: 'tree' },
    { name: 'a file', expression: 'HEAD:a.txt', type: 'blob' },
    { name: 'a file with a space in its name', expression: 'HEAD:folder/with space.txt', type: 'blob' },
    { name: 'a file with letters of several bytes', expression: 'HEAD:größe.txt', type: 'blob' },
  ])('finds $name', async ({ expression, type }) => {
    const id = await repository.git('rev-parse', expression);
    expect(await objects.info(expression)).toEqual({ id, type, size: expect.any(Number) });
  });

  it.each([
    { name: 'a path that is not there', expression: 'HEAD:none' },
    { name: 'a branch that is not there', expression: 'refs/heads/none^{commit}' },
    { name: 'an object that is not there', expression: '1'.repeat(40) },
    { name: 'a file asked for as a commit', expression: 'HEAD:a.txt^{commit}' },
    { name: 'a shortened id of nothing', expression: 'dead' },
    { name: 'an option', expression: '--help' },
    { name: 'nothing but a peel', expression: '^{commit}' },
    { name: 'a search that finds nothing', expression: ':/nothing of the kind' },
    { name: 'text of a format', expression: '%(objectname) %s' },
    { name: 'a line break, which would be a second request', expression: 'HEAD\ncontents HEAD' },
    { name: 'a carriage return', expression: 'HEAD\r' },
  ])('has null for $name', async ({ expression }) => {
    expect(await objects.info(expression)).toBeNull();
  });

  it('goes on answering after all of these', async () => {
    expect(await objects.info('HEAD')).toMatchObject({ id: revision });
  });
});

describe('contents', () => {
  it('are the bytes as they are', async () => {
    expect([...((await objects.contents(await idOf('binary.bin'))) ?? [])]).toEqual([0, 1, 10, 255, 10, 0]);
    expect(await objects.contents(await idOf('empty.txt'))).toHaveLength(0);
  });

  it('are null for an object that is missing', async () => {
    expect(await objects.contents('1'.repeat(40))).toBeNull();
  });

  it.each(['HEAD', 'a\nb', ''])('are asked for by object id only, never by %j', async (text) => {
    await expect(async () => objects.contents(text)).rejects.toMatchObject({ kind: 'internal' });
  });
});

describe('contents of an object that is made to fill the memory', () => {
  it('are not read, and the next question is answered', async () => {
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
    { name: 'the exact size allowed', max: 4 },
    { name: 'more allowed', max: 1000 },
  ])('has its bytes with $name', async ({ max }) => {
    expect(await objects.blob(await idOf('a.txt'), max)).toEqual({ bytes: Buffer.from('one\n') });
  });

  it('that is larger than allowed is not read', async () => {
    expect(await objects.blob(await idOf('a.txt'), 3)).toEqual({ tooLarge: 4 });
  });

  it('without content is no missing one', async () => {
    expect(await objects.blob(await idOf('empty.txt'), 0)).toEqual({ bytes: Buffer.alloc(0) });
  });

  it.each([
    { name: 'nothing at all', id: '1'.repeat(40) },
    { name: 'a commit', id: revision },
    { name: 'a tree', id: tree },
  ])('is missing where its id is that of $name', async ({ id }) => {
    expect(await objects.blob(id, 1000)).toEqual({ missing: true });
  });

  it('is found when it came after the process was started, loose or packed', async () => {
    await objects.info('HEAD');
    await repository.commit({ 'later.txt': 'later\n' });
    const id = await idOf('later.txt');
    expect(await objects.blob(id, 100)).toEqual({ bytes: Buffer.from('later\n') });
    await repository.git('gc', '--quiet', '--prune=now');
    expect(await objects.blob(id, 100)).toEqual({ bytes: Buffer.from('later\n') });
    expect(await objects.blob(await idOf('a.txt'), 100)).toEqual({ bytes: Buffer.from('one\n') });
  });

  it('can be read many at a time', async () => {
    const ids = await Promise.all(['a.txt', 'empty.txt', 'binary.bin'].map(idOf));
    const all = Array.from({ length: 300 }, (_, index) => ids[index % 3] as string);
    const sizes = (await Promise.all(all.map((id) => objects.blob(id, 100)))).map((blob) =>
      'bytes' in blob ? blob.bytes.length : null,
    );
    expect(sizes).toEqual(all.map((_, index) => [4, 0, 6][index % 3]));
  });
});

describe('the process', () => {
  it('that is ended while it reads is replaced, and nobody notices', async () => {
    const noting = await notingGit();
    const reader = openObjects(noting.use(contextAt(repository.folder)));
    onTestFinished(() => reader.close());
    const file = await idOf('a.txt');
    await reader.info('HEAD');
    const id = (await noting.last()) as number;
    process.kill(id, 'SIGSTOP');
    const answers = Promise.all([reader.info(revision), reader.contents(file)]);
    process.kill(id, 'SIGKILL');
    const [head, text] = await answers;
    expect([head?.id, text?.toString()]).toEqual([revision, 'one\n']);
  });
});
