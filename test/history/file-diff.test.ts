import { describe, expect, it } from 'vitest';
import type { BlobContent } from '../../src/desired/entry.ts';
import { readFileDiff } from '../../src/history/file-diff.ts';

const BLOBS: Readonly<Record<string, BlobContent>> = {
  one: { bytes: Buffer.from('a: 1\n') },
  two: { bytes: Buffer.from('a: 2\n') },
  latin: { bytes: Buffer.from('a: caf\xe9\n', 'latin1') },
  large: { tooLarge: 300_000 },
};

const read = async (blob: string): Promise<BlobContent> => BLOBS[blob] ?? { missing: true };
const file = (blob: string) => ({ type: 'file', blob }) as const;
const link = { type: 'symlink', blob: 'one' } as const;
const OMITTED = { before: null, after: null, lines: [], too_large: true };

describe('the difference of a file', () => {
  it.each([
    [
      'has both texts',
      file('one'),
      file('two'),
      { before: 'a: 1\n', after: 'a: 2\n', lines: ['-a: 1', '+a: 2'] },
    ],
    ['has one text of a new file', null, file('one'), { before: null, after: 'a: 1\n', lines: ['+a: 1'] }],
    ['has no text of a link', link, file('two'), { before: null, after: 'a: 2\n', lines: ['+a: 2'] }],
    [
      'shows bytes that are not UTF-8',
      null,
      file('latin'),
      { before: null, after: 'a: caf\ufffd\n', lines: ['+a: caf\ufffd'] },
    ],
    ['says that its new text is too large', file('one'), file('large'), OMITTED],
    ['says that its old text is too large', file('large'), null, OMITTED],
  ])('%s', async (_, before, after, expected) => {
    const { path, hunks, ...texts } = await readFileDiff('apps/web.yaml', { before, after }, read);
    expect(path).toBe('apps/web.yaml');
    expect({ ...texts, lines: hunks.flatMap(({ lines }) => lines) }).toEqual(expected);
  });
});
