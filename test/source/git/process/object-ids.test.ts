import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../../../src/errors.ts';
import { emptyTreeIdLike, objectId } from '../../../../src/source/git/process/object-ids.ts';
import { newRepository } from '../support.ts';

const ID = 'a'.repeat(40);
const LONG_ID = '0123456789abcdef'.repeat(4);

describe('objectId', () => {
  it.each([
    ['sha1', ID],
    ['sha256', LONG_ID],
  ])('accepts a full %s id', (_, text) => {
    expect(objectId(text)).toBe(text);
  });

  it.each([
    ['an empty text', ''],
    ['a short id', 'a'.repeat(39)],
    ['a length between sha1 and sha256', 'a'.repeat(50)],
    ['one digit too many', 'a'.repeat(65)],
    ['capitals', 'A'.repeat(40)],
    ['a letter after f', 'g'.repeat(40)],
    ['a line break at the end', `${ID}\n`],
    ['another line before the id', `x\n${ID}`],
    ['an option', `--${'a'.repeat(38)}`],
    ['a symbolic name', 'HEAD'],
    ['an id with a suffix', `${ID}^{tree}`],
  ])('refuses %s', (_, text) => {
    expect(() => objectId(text)).toThrow(HoldfastError);
  });
});

it.each(['sha1', 'sha256'])('emptyTreeIdLike returns the id of the empty tree of %s', async (format) => {
  const { git } = await newRepository(`--object-format=${format}`);
  const tree = await git('write-tree');
  expect(emptyTreeIdLike(tree)).toBe(tree);
});
