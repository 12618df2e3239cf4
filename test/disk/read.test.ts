import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readSmallFile } from '../../src/disk/read.ts';
import { temporaryFolder } from '../support/folder.ts';

const folder = await temporaryFolder(afterAll);

describe('readSmallFile', () => {
  it.each([
    ['an empty file', ''],
    ['a line', 'ref: refs/heads/größe\n'],
    ['a file that is one byte shorter than its buffer', 'x'.repeat(1023)],
    ['a file that is as long as its buffer', 'x'.repeat(1024)],
    [
      'a longer file with a character across the end of its buffer',
      `${'x'.repeat(1023)}ö${'y'.repeat(3000)}`,
    ],
  ])('reads %s', async (_, text) => {
    const path = join(folder, 'file');
    await writeFile(path, text);
    expect(await readSmallFile(path)).toBe(text);
  });

  it.each([
    ['a missing file', 'none', 'ENOENT'],
    ['a folder', '', 'EISDIR'],
  ])('rejects for %s', async (_, path, code) => {
    await expect(readSmallFile(join(folder, path))).rejects.toMatchObject({ code });
  });
});
