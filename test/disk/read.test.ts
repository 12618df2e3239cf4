import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readSmallFile } from '../../src/disk/read.ts';
import { temporaryFolder } from '../support/folder.ts';

const folder = await temporaryFolder(afterAll);

describe('readSmallFile', () => {
  it.each([
    { name: 'nothing', text: '' },
    { name: 'a line', text: 'ref: refs/heads/größe\n' },
    { name: 'one byte less than it reads at once', text: 'x'.repeat(1023) },
    { name: 'what it reads at once', text: 'x'.repeat(1024) },
    { name: 'more, with a letter on both sides of that', text: `${'x'.repeat(1023)}ö${'y'.repeat(3000)}` },
  ])('reads $name', async ({ text }) => {
    const path = join(folder, 'file');
    await writeFile(path, text);
    expect(await readSmallFile(path)).toBe(text);
  });

  it.each([
    { name: 'a file that is not there', path: 'none', code: 'ENOENT' },
    { name: 'a folder', path: '', code: 'EISDIR' },
  ])('rejects for $name', async ({ path, code }) => {
    await expect(readSmallFile(join(folder, path))).rejects.toMatchObject({ code });
  });
});
