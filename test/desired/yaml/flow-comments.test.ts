import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { readYaml } from '../../../src/desired/yaml/document.ts';
import { editText } from '../../../src/desired/yaml/edit/edit-text.ts';
import { type Dice, dice } from './random-yaml.ts';

describe('an item that moves in brackets keeps its comment', () => {
  test.each<[string, string, readonly unknown[], string]>([
    [
      'to the front of a line that begins with the bracket',
      'l: [a,\n  b,\n  c # c\n]\n',
      ['c', 'a', 'b'],
      'l: [c, # c\n    a,\n  b\n]\n',
    ],
    [
      'from the line of the opening bracket',
      'l: [a, # a\n  b,\n  c\n]\n',
      ['b', 'c', 'a'],
      'l: [\n  b,\n  c,\n  a # a\n]\n',
    ],
    [
      'after an item whose line has a comment',
      'l: [\n  a, # a\n  b, c, # c\n  d\n]\n',
      ['b', 'c', 'a', 'd'],
      'l: [\n  b, c, # c\n     a, # a\n  d\n]\n',
    ],
    [
      'together with a new item',
      'l: [\n  a, # a\n  b, c, # c\n  d\n]\n',
      ['b', 'c', 'new', 'a', 'd'],
      'l: [\n  b, c, # c\n     new,\n     a, # a\n  d\n]\n',
    ],
    [
      'if the comment is between the item and its comma',
      'l: [\n  a # a\n  # more\n  , # comma\n  b,\n  c,\n]\n',
      ['b', 'c', 'a'],
      'l: [\n  b,\n  c,\n  a, # a  # more # comma\n]\n',
    ],
    [
      'from the end of a line whose other items stay',
      'l: [ a, b, c, # c\n  d,]\n',
      ['d', 'c', 'a', 'b'],
      'l: [ d, c, # c\n     a, b,]\n',
    ],
    [
      'if it is a list with comments',
      'l: [\n  [a, # a\n    x],\n  b,\n  c,\n]\n',
      ['b', 'c', ['a', 'x']],
      'l: [\n  b,\n  c,\n  [a, # a\n    x],\n]\n',
    ],
    [
      'to the end of a line whose other items are removed',
      'l: [e, # e\n  [g, y], b\n]\n',
      [['g', 'y'], 'e'],
      'l: [\n  [g, y],\n  e # e\n]\n',
    ],
  ])('%s', (_name, text, items, expected) => {
    expect(editText(text, { l: items })).toEqual({ text: expected, grain: 'places' });
  });
});

it('an item that moves to the front of brackets does not separate the next one from the comment above it', () => {
  const text = 'l: [\n  1,\n  # about 2\n  2,\n  4,\n  3\n]\n';
  const expected = 'l: [\n  3,\n  # about 2\n  2,\n  4\n]\n';
  expect(editText(text, { l: [3, 2, 4] })).toEqual({ text: expected, grain: 'places' });
});

it('5,000 equal items with comments are removed place by place', () => {
  const text = `l: [${'1, #\n  '.repeat(5000)}]\n`;
  expect(editText(text, { l: [2] }).grain).toBe('places');
});

/** A list in brackets with random comments at all places where YAML allows them. */
function commentedList(items: readonly string[], roll: Dice): { text: string; comments: string[] } {
  const comments: string[] = [];
  const gap = (): string => {
    let text = roll.pick(['', ' ', '\n  ']);
    for (; roll.chance(0.25); text += `${comments.at(-1)}\n  `) {
      if (!/\s$/.test(text)) text += ' ';
      comments.push(`# ${comments.length}.`);
    }
    return text;
  };
  const comma = (): string => (roll.chance(0.1) ? `${gap()},` : ',');
  const entries = items.map((item, index) => {
    const isLast = index === items.length - 1;
    return gap() + item + (isLast && roll.chance(0.5) ? '' : comma());
  });
  return { text: `l: [${entries.join('')}${gap()}]\n`, comments };
}

it('no comment in brackets is lost or duplicated when items move and others are added', () => {
  const orders = fc
    .uniqueArray(fc.constantFrom(...'abcdef'), { minLength: 1 })
    .chain((items) =>
      fc.tuple(
        fc.constant(items),
        fc.oneof(fc.constant(items), fc.shuffledSubarray(items, { minLength: items.length })),
        fc.integer(),
      ),
    );
  const property = fc.property(orders, ([before, order, seed]) => {
    const roll = dice(seed);
    const { text, comments } = commentedList(before, roll);
    const after = [...order];
    for (let left = roll.below(4); left > 0; left--)
      after.splice(roll.below(after.length + 1), 0, `n${left}`);
    const edited = editText(text, { l: after });
    expect(['nothing', 'places']).toContain(edited.grain);
    expect(readYaml(edited.text)).toMatchObject({ ok: true, value: { value: { l: after } } });
    for (const comment of comments) expect(edited.text.split(comment)).toHaveLength(2);
  });
  void fc.assert(property, { numRuns: Number(process.env['EDIT_RUNS'] ?? 200) });
});
