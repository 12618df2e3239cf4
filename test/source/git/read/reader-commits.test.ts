import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testRepository } from '../../../support/git.ts';
import { openSource } from '../support.ts';

describe('commit', () => {
  it.each([
    ['only a subject', 'one line'],
    ['a body and trailers', 'one\n\ntwo\n\nAllow-Empty: true'],
    ['lines that look like a header', 'x\n\ncommitter A <a@b> 5 +0000'],
    ['characters that are not ASCII', 'größe 😀'],
  ])('has the whole message, with %s', async (_, message) => {
    const repository = await testRepository();
    const revision = await repository.commit({ a: '' }, message);
    const { reader } = await openSource(repository.folder);
    const time = Number(await repository.git('log', '-1', '--format=%ct'));
    expect(await reader.commit(revision)).toEqual({
      time,
      authored: time,
      parents: [],
      message: `${message}\n`,
    });
  });

  it('has its parents, and keeps its author time when it is amended', async () => {
    const repository = await testRepository();
    const first = await repository.commit({ a: '' });
    await repository.commit({ a: 'x' });
    await repository.git('commit', '--amend', '--quiet', '--date=2001-01-01T00:00:00Z', '-m', 'again');
    const { reader } = await openSource(repository.folder);
    const { authored, time, parents } = await reader.commit(await repository.git('rev-parse', 'HEAD'));
    expect({ authored, parents }).toEqual({ authored: 978_307_200, parents: [first] });
    expect(time).toBeGreaterThan(authored);
  });

  it('has an empty message if it was made without one', async () => {
    const repository = await testRepository();
    await repository.commit({ a: '' });
    await repository.git('commit', '--quiet', '--allow-empty', '--allow-empty-message', '-m', '');
    const { reader } = await openSource(repository.folder);
    expect(await reader.commit(await repository.git('rev-parse', 'HEAD'))).toMatchObject({ message: '' });
  });

  it('rejects as unavailable if it is missing', async () => {
    const repository = await testRepository();
    await repository.commit({ a: '' });
    const { reader } = await openSource(repository.folder);
    await expect(reader.commit('1'.repeat(40))).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('commonAncestor', () => {
  it('is the newest commit in the histories of both, however two commits are related', async () => {
    const repository = await testRepository();
    const { git } = repository;
    const first = await repository.commit({ a: '1' });
    const second = await repository.commit({ a: '2' });
    const third = await repository.commit({ a: '3' });
    await git('switch', '--quiet', '-c', 'side', first);
    const side = await repository.commit({ b: '1' });
    await git('switch', '--quiet', '--orphan', 'other');
    const other = await repository.commit({ c: '1' });
    const { reader } = await openSource(repository.folder);
    const rows: [string, string, string, string | null][] = [
      ['the same', third, third, third],
      ['the parent', second, third, second],
      ['an ancestor', first, third, first],
      ['a descendant', third, first, first],
      ['diverged', third, side, first],
      ['unrelated', third, other, null],
      ['missing', 'a'.repeat(40), third, null],
    ];
    for (const [name, one, two, expected] of rows)
      expect([name, await reader.commonAncestor(one, two)]).toEqual([name, expected]);
  });
});

describe('lastChange', () => {
  it('is the newest commit that changed the folder, even by deleting its last file', async () => {
    const repository = await testRepository();
    const { reader } = await openSource(join(repository.folder, 'ds'));
    const before = await repository.commit({ 'else.txt': '0' });
    expect(await reader.lastChange(before)).toBeNull();
    const first = await repository.commit({ 'ds/apps/a.yaml': 'container_image: a\n' });
    const second = await repository.commit({ 'else.txt': '1' });
    expect(await reader.lastChange(second)).toBe(first);
    const emptied = await repository.commit({ 'ds/apps/a.yaml': null });
    const after = await repository.commit({ 'else.txt': '2', 'dsx/a': '' });
    expect(await reader.lastChange(after)).toBe(emptied);
  });

  it('ignores empty commits if the folder is the whole repository', async () => {
    const repository = await testRepository();
    const { reader } = await openSource(repository.folder);
    const revision = await repository.commit({ a: '' });
    await repository.git('commit', '--quiet', '--allow-empty', '-m', 'nothing');
    expect(await reader.lastChange(await repository.git('rev-parse', 'HEAD'))).toBe(revision);
  });

  it('does not treat the name of the folder as a pattern', async () => {
    const repository = await testRepository();
    const revision = await repository.commit({ 'd*s/a': '' });
    const { reader } = await openSource(join(repository.folder, 'd*s'));
    const other = await repository.commit({ 'dxs/a': '' });
    expect(await reader.lastChange(other)).toBe(revision);
  });
});

describe('touchedPaths', () => {
  it('returns the paths below the folder that a range of commits touched', async () => {
    const repository = await testRepository();
    const first = await repository.commit({ 'ds/a': '1', b: '1' });
    await repository.commit({ 'ds/a': '2', 'ds/größe': '1', b: '2' });
    const last = await repository.commit({ 'ds/a': '1' });
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect(await reader.touchedPaths(first, last)).toEqual(new Set(['a', 'größe']));
    expect(await reader.touchedPaths(last, last)).toEqual(new Set());
    expect(await reader.touchedPaths(null, first)).toEqual(new Set(['a']));
  });

  it('returns a path whose old content one merge brings back, and another one replaces again', async () => {
    const repository = await testRepository();
    const old = await repository.commit({ 'ds/a': 'old', 'ds/b': '1' });
    const first = await repository.commit({ 'ds/a': 'new' });
    const merge = (files: string, ...parents: string[]): Promise<string> =>
      repository.git('commit-tree', `${files}^{tree}`, '-m', 'x', ...parents.flatMap((id) => ['-p', id]));
    const back = await merge(old, old, first);
    const again = await merge(first, await merge(first, first), back);
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect(await reader.touchedPaths(first, again)).toEqual(new Set(['a']));
    expect(await reader.touchedPaths(first, await merge(first, first, old))).toEqual(new Set());
  });

  it('returns both paths of a file that was renamed, without a change or with one', async () => {
    const repository = await testRepository();
    const lines = Array.from({ length: 20 }, (_, line) => `# ${line}\n`).join('');
    const first = await repository.commit({ 'ds/a': lines, 'ds/b': `${lines}b` });
    await repository.git('mv', 'ds/a', 'ds/a-moved');
    const last = await repository.commit({ 'ds/b': null, 'ds/b-moved': `${lines}c` });
    const { reader } = await openSource(join(repository.folder, 'ds'));
    expect(await reader.touchedPaths(first, last)).toEqual(new Set(['a', 'a-moved', 'b', 'b-moved']));
  });
});
