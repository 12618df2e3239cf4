import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { editText, type Grain } from '../../../src/desired/yaml/edit/edit-text.ts';
import { editYaml, renderYaml } from '../../../src/desired/yaml/edit.ts';
import { anyKey, anyText, type Fields, fields, mutate } from './random-app.ts';
import { mustStay, type RandomYaml, randomYaml, valueIn } from './random-yaml.ts';

/** How many random inputs each property tries; raise it while working on the editor. */
const RUNS = Number(process.env['EDIT_RUNS'] ?? 250);

/** A random file, its value, and the target of an edit. */
interface Change {
  yaml: RandomYaml;
  before: Fields;
  after: Fields;
}

const changes: fc.Arbitrary<Change> = fc
  .tuple(fields, fields, fc.integer(), fc.integer())
  .map(([before, other, style, change]) => ({
    yaml: randomYaml(before, style),
    before,
    after: mutate(before, other, change),
  }))
  // A random comment can become part of a block scalar; the file then has another value.
  .filter(({ yaml, before }) => fc.stringify(valueIn(yaml.text)) === fc.stringify(before));

function linesOf(text: string): string[] {
  return text.replace(/^\ufeff/, '').split(/\r?\n/);
}

function expectComments({ yaml, before, after }: Change, edited: string): void {
  const lines = new Set(linesOf(edited).map((line) => line.trim()));
  for (const comment of yaml.comments) {
    const copies = edited.split(comment.text).length - 1;
    expect(copies).toBeLessThanOrEqual(1);
    if (!mustStay(comment, before, after)) continue;
    expect(comment.place === 'block' ? lines.has(comment.text) : copies === 1, comment.text).toBe(true);
  }
}

function expectLinesOfOtherFields({ yaml, before, after }: Change, edited: string): void {
  const text = `\n${linesOf(edited).join('\n')}\n`;
  let from = 0;
  for (const { key, lines } of yaml.chunks) {
    if (!Object.hasOwn(after, key) || fc.stringify(before[key]) !== fc.stringify(after[key])) continue;
    const found = text.indexOf(`\n${lines.join('\n')}\n`, from);
    expect(found, key).toBeGreaterThanOrEqual(from);
    from = found + 1;
  }
}

function expectSameEnds({ yaml: { text } }: Change, edited: string): void {
  expect(edited.startsWith('\ufeff')).toBe(text.startsWith('\ufeff'));
  if (text.includes('\r\n')) expect(edited).not.toMatch(/(?<!\r)\n/);
  else expect(edited).not.toContain('\r\n');
  if (text.endsWith('\n')) expect(edited.endsWith('\n')).toBe(true);
}

it('random edits of random files reach the target place by place, and keep comments, other fields and line ends', () => {
  const seen: Record<Grain, number> = { nothing: 0, places: 0, 'quoted-places': 0, fields: 0, file: 0 };
  const property = fc.property(changes, (change) => {
    const { yaml, before, after } = change;
    const { text: edited, grain } = editText(yaml.text, after);
    seen[grain]++;
    expect(['nothing', 'places', 'quoted-places']).toContain(grain);
    expect(valueIn(edited)).toEqual(after);
    expectComments(change, edited);
    expectLinesOfOtherFields(change, edited);
    expectSameEnds(change, edited);
    expect(editYaml(edited, after)).toBe(edited);
    expect(editYaml(yaml.text, before)).toBe(yaml.text);
  });
  void fc.assert(property, { numRuns: RUNS });
  expect(seen['quoted-places']).toBeLessThan(10 + RUNS / 100);
  expect(seen.places).toBeGreaterThan(RUNS / 2);
});

describe('random strings', () => {
  const text = fc.oneof(anyText, fc.string({ unit: 'binary', maxLength: 20 }));
  const SOURCES = [
    'k: plain # c\nl: [a, b]\n',
    "k: 'single'\nl:\n- a # c\n",
    'k: "double"\nl:\n  - "a"\n',
    'k: | # c\n   a\n   b\n# d\nl: []\n',
    'k: >-\n  a\nl:\n  - |\n    a\n',
    'k: # c\n',
    '{k: a, l: [a, {b: c}]}\n',
    '',
  ];

  it('are read back as they were written, as values and keys, in every style', () =>
    fc.assert(
      fc.property(text, text, anyKey, fc.constantFrom(...SOURCES), (one, other, name, source) => {
        const target = { k: one, l: [other, { [name]: one }], m: { [name]: other, z: one } };
        const { text: edited, grain } = editText(source, target);
        expect(valueIn(edited)).toEqual(target);
        expect(grain).toBe('places');
        // Characters that an editor can hide or change are escaped.
        expect(edited).not.toMatch(/[^\P{C}\n\t\p{Cf}\p{Cn}\p{Co}]|[\u2028\u2029\ufeff\u202e]/u);
      }),
      { numRuns: RUNS * 2 },
    ));

  it('are read back from a new file', () =>
    fc.assert(
      fc.property(fields, text, anyKey, (app, value, name) => {
        const target = { ...app, [name]: value };
        expect(valueIn(renderYaml(target))).toEqual(target);
      }),
      { numRuns: RUNS },
    ));
});

describe('files that contain JSON', () => {
  const json = fc.tuple(fields, fields, fc.integer(), fc.constantFrom(0, 2, 4));

  it('still contain JSON after an edit', () =>
    fc.assert(
      fc.property(json, ([before, other, change, space]) => {
        const after = mutate(before, other, change);
        expect(JSON.parse(editYaml(`${JSON.stringify(before, null, space)}\n`, after))).toEqual(after);
      }),
      { numRuns: RUNS },
    ));
});
