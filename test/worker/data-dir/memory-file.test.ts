import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createMemoryFile, type MemoryFile } from '../../../src/worker/data-dir/memory-file.ts';
import { emptyMemory, type Memory } from '../../../src/worker/plan/memory.ts';
import { temporaryFolder } from '../../support/folder.ts';

const NOW = Date.parse('2026-01-02T03:04:05.678Z');
const ASIDE = 'worker.json.bad-2026-01-02T03-04-05.678Z';

const MEMORY: Memory = {
  ...emptyMemory(),
  reply: {
    source: 's',
    etag: '"00aa.1-x"',
    revision: null,
    body: { apps: [{ app_name: 'web', later: 'ä' }] },
  },
  done: '"00aa.1-x"',
  groupId: 3,
};

async function setUp(text?: string): Promise<{ folder: string; path: string; file: MemoryFile }> {
  const folder = await temporaryFolder();
  const path = join(folder, 'worker.json');
  if (text !== undefined) await writeFile(path, text);
  return { folder, path, file: createMemoryFile(folder, () => NOW) };
}

describe('the file of the memory', () => {
  it('gives back what was written, to the next worker', async () => {
    const { folder, file } = await setUp();
    expect(await file.write(MEMORY)).toBeNull();
    const next = createMemoryFile(folder, () => NOW);
    expect(await next.read()).toEqual({ memory: MEMORY, problem: null });
    expect(await readdir(folder)).toEqual(['worker.json']);
  });

  it('is empty without a file, and that is no problem', async () => {
    const { folder, file } = await setUp();
    expect(await file.read()).toEqual({ memory: emptyMemory(), problem: null });
    expect(await readdir(folder)).toEqual([]);
  });

  it('can be read by its owner only', async () => {
    const { path, file } = await setUp();
    await file.write(MEMORY);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it.each<[string, string, RegExp]>([
    ['empty', '', /is not whole/],
    ['torn', JSON.stringify(MEMORY).slice(0, 50), /is not whole/],
    ['of zeros, as after a loss of power', '\0'.repeat(200), /is not whole/],
    [
      'of a newer worker',
      JSON.stringify({ ...MEMORY, format: 2 }),
      /was written by another version of the worker/,
    ],
    ['of something else', '[]', /has no valid content/],
    ['damaged in one place', JSON.stringify({ ...MEMORY, groupId: 'three' }), /has no valid groupId/],
  ])('is kept aside if it is %s, and the worker starts without it', async (_name, text, reason) => {
    const { folder, file } = await setUp(text);
    expect(await file.read()).toEqual({
      memory: emptyMemory(),
      problem: expect.stringMatching(new RegExp(`^worker\\.json ${reason.source}; it is kept as ${ASIDE}$`)),
    });
    expect(await readdir(folder)).toEqual([ASIDE]);
    expect(await readFile(join(folder, ASIDE), 'utf8')).toBe(text);
    expect(await file.write(MEMORY)).toBeNull();
    expect((await createMemoryFile(folder, () => NOW).read()).memory).toEqual(MEMORY);
  });

  it('is kept aside once: the newest such file replaces those before it', async () => {
    const { folder, file } = await setUp('torn');
    await writeFile(join(folder, 'worker.json.bad-2025-12-31T00-00-00.000Z'), 'older');
    await file.read();
    expect(await readdir(folder)).toEqual([ASIDE]);
  });

  it('that cannot be read is no reason not to start', async () => {
    const { folder, path, file } = await setUp();
    await mkdir(path);
    expect(await file.read()).toMatchObject({
      memory: emptyMemory(),
      problem: expect.stringMatching(/^worker\.json cannot be read: EISDIR/),
    });
    expect(await readdir(folder)).toEqual([ASIDE]);
  });

  it('is not written again without a change, also not after a start', async () => {
    const { folder, path, file } = await setUp();
    await file.write(MEMORY);
    const { ino, mtimeMs } = await stat(path);
    expect(await file.write(structuredClone(MEMORY))).toBeNull();
    const next = createMemoryFile(folder, () => NOW);
    const { memory } = await next.read();
    await next.write(memory);
    expect(await stat(path)).toMatchObject({ ino, mtimeMs });
    await next.write({ ...memory, groupId: 4 });
    expect((await stat(path)).ino).not.toBe(ino);
  });

  it('has the last of several writes at once', async () => {
    const { file, folder } = await setUp();
    const writes = [1, 2, 3, 4, 5].map((groupId) => file.write({ ...MEMORY, groupId }));
    expect(await Promise.all(writes)).toEqual([null, null, null, null, null]);
    expect((await createMemoryFile(folder, () => NOW).read()).memory.groupId).toBe(5);
  });

  it('that cannot be written is reported, and written as soon as it can be', async () => {
    const { folder, path, file } = await setUp();
    await file.write(MEMORY);
    await rename(folder, `${folder}-away`);
    const changed = { ...MEMORY, groupId: 9 };
    expect(await file.write(changed)).toMatch(/worker\.json cannot be written: ENOENT/);
    await rename(`${folder}-away`, folder);
    expect(await file.write(changed)).toBeNull();
    expect(await readFile(path, 'utf8')).toContain('"groupId":9');
    await rm(folder, { recursive: true });
  });
});
