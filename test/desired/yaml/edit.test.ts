import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { editText, type Grain } from '../../../src/desired/yaml/edit/edit-text.ts';
import { editYaml, renderYaml } from '../../../src/desired/yaml/edit.ts';
import type { Fields } from './random-app.ts';
import { valueIn } from './random-yaml.ts';

const GOLDEN = fileURLToPath(new URL('../../golden/edit/', import.meta.url));

describe('golden files', () => {
  const names = readdirSync(GOLDEN);
  const file = (name: string, part: string) => readFileSync(`${GOLDEN}${name}/${part}`, 'utf8');

  it('are complete', () => {
    expect(names.length).toBeGreaterThan(45);
  });

  test.each(names)('editYaml makes exactly the expected edit: %s', (name) => {
    const target = JSON.parse(file(name, 'target.json')) as Fields;
    const expected = file(name, 'expected/app.yaml');
    expect(editYaml(file(name, 'original/app.yaml'), target)).toBe(expected);
    expect(valueIn(expected)).toEqual(target);
    expect(editYaml(expected, target)).toBe(expected);
  });

  it('include some with CRLF, a byte order mark or no final newline, as exact bytes', () => {
    const originals = names.map((name) => file(name, 'original/app.yaml'));
    expect(originals.filter((text) => text.includes('\r\n')).length).toBeGreaterThanOrEqual(4);
    expect(originals.filter((text) => text.startsWith('\ufeff')).length).toBeGreaterThanOrEqual(3);
    expect(originals.filter((text) => text !== '' && !text.endsWith('\n')).length).toBeGreaterThanOrEqual(5);
  });
});

describe('editYaml', () => {
  test.each([
    ['a syntax error', 'a: [1\n'],
    ['a duplicate key', 'a: 1\na: 2\n'],
    ['a list', '- a\n'],
    ['an empty list', '[]\n'],
    ['a scalar', 'text\n'],
    ['two documents', 'a: 1\n---\nb: 1\n'],
    ['two empty documents', '---\n---\n'],
    ['a directive', '%YAML 1.1\n---\na: 1\n'],
    ['only a directive', '%YAML 1.2\n'],
    ['an alias', 'a: &x 1\nb: *x\n'],
    ['an unknown tag', 'a: !secret x\n'],
    ['a forbidden key', '__proto__: 1\n'],
    ['a number that is not exact', 'a: 12345678901234567890\n'],
    ['indentation by tabs', 'a:\n\tb: 1\n'],
  ])('refuses a text with %s', (_name, text) => {
    expect(() => editYaml(text, { a: 1 })).toThrow(expect.objectContaining({ kind: 'invalid' }));
  });

  test.each([
    '  a: 1 # why\n',
    '  a: 1 # why\n  b: 2\n',
    ' # top\n  a: 1 # why',
    '{a: 0}\n',
    '# top\n\n  a: 0\n',
  ])('makes the same edit below a byte order mark as without one: %j', (text) => {
    const target = { a: 1, b: [2] };
    expect(editText(`\ufeff${text}`, target)).toEqual({
      text: `\ufeff${editYaml(text, target)}`,
      grain: 'places',
    });
  });

  it('names the line of a syntax error, and returns the problems', () => {
    const problem = expect.objectContaining({ line: 2, code: 'yaml-syntax' });
    expect(() => editYaml('a: 1\na: 2\n', { a: 1 })).toThrow(
      expect.objectContaining({
        message: expect.stringContaining('line 2'),
        details: { problems: [problem] },
      }),
    );
  });

  test.each([
    ['a number that is not exact', { a: 2 ** 60 }],
    ['NaN', { a: Number.NaN }],
    ['a forbidden key', JSON.parse('{"__proto__": 1}') as Fields],
    ['too deep nesting', JSON.parse(`${'{"a":'.repeat(40)}1${'}'.repeat(40)}`) as Fields],
  ])('refuses a target with %s', (_name, target) => {
    expect(() => editYaml('a: 1\n', target)).toThrow(expect.objectContaining({ kind: 'invalid' }));
  });
});

describe('editText uses the finest grain that leads to the target', () => {
  const longKey = 'k'.repeat(1100);
  test.each<[Grain, string, string, Fields, string]>([
    ['nothing', 'the value is already there', 'a: 1 # one\n', { a: 1 }, 'a: 1 # one\n'],
    ['places', 'a value differs', 'a: 1 # one\n', { a: 2 }, 'a: 2 # one\n'],
    [
      'quoted-places',
      'a block scalar would absorb a comment',
      'a: x\n  # y\n',
      { a: 'p\nq' },
      'a: "p\\nq"\n  # y\n',
    ],
    [
      'fields',
      'a key is too long to be edited in place',
      '# one\na:\n  - b: 1\nc: 1 # two\n',
      { a: [{ [longKey]: 1 }], c: 1 },
      `# one\na:\n  - ? ${longKey}\n    : 1\nc: 1 # two\n`,
    ],
    ['file', 'there is no map to edit', '--- !!null\n# one\n', { a: 1 }, 'a: 1\n'],
  ])('%s, because %s', (grain, _name, text, target, expected) => {
    expect(editText(text, target)).toEqual({ text: expected, grain });
  });
});

describe('comments in unusual places', () => {
  test.each<[string, string, Fields, string]>([
    ['after a tab, above a value', 'a:\n\t# c\n  1\n', { a: 1, b: 2 }, 'a:\n\t# c\n  1\nb: 2\n'],
    ['without a space, above a value', 'a:\n#c\n  1\n', { a: 1, b: 2 }, 'a:\n#c\n  1\nb: 2\n'],
    ['between an anchor and its value', 'a: &x # c\n  1\n', { a: 'new' }, 'a: # c\n  new\n'],
    [
      'between a tag, an anchor and their value',
      'a: !!str #c\n  &x #d\n  y\n',
      { a: 1 },
      'a: #c\n  #d\n  1\n',
    ],
    ['after an anchor that contains #', 'a: &x#y # c\n  1\n', { a: { b: 2 } }, 'a: # c\n  b: 2\n'],
    [
      'beside an item after a tab',
      'a:\n-\t1 # c\n# d\n- 2\n',
      { a: [{ b: 1 }, 2] },
      'a:\n- b: 1 # c\n# d\n- 2\n',
    ],
    ['above a value after a tab', 'a: # c\n \t1\n', { a: [1, 2] }, 'a: # c\n  - 1\n  - 2\n'],
    ['after a tab, below a removed field', 'a: |+\n  x\nb: 1\n\t# c\n', { a: 'x\n' }, 'a: |+\n  x\n# c\n'],
    [
      'with a line separator, in a text without fields',
      '# c\u2028... d\n',
      { a: 1 },
      '# c\u2028... d\na: 1\n',
    ],
    ['with a line separator, after an anchor', 'a: &x # c\u2028!d\n  1\n', { a: 2 }, 'a: # c\u2028!d\n  2\n'],
    [
      'at the top of a list whose first item moves',
      'l:\n  # about the list\n  - a\n  - b\n',
      { l: ['b', 'a'] },
      'l:\n  # about the list\n  - b\n  - a\n',
    ],
    [
      'elsewhere, if blank lines with spaces follow a removed field',
      '# c\na: |\n  x\nb: 1\n    \n \t\n',
      { a: 'x\n' },
      '# c\na: |\n  x\n\n\n',
    ],
  ])('stay %s', (_name, text, target, expected) => {
    expect(editText(text, target)).toEqual({ text: expected, grain: 'places' });
  });
});

describe('an edit keeps the style of', () => {
  test.each<[string, string, Fields, string]>([
    ['a block scalar with an indentation indicator', 'k: |1\n   x\n', { k: 'y\nz\n' }, 'k: |\n y\n z\n'],
    [
      'a block scalar with an indentation indicator after a dash',
      'k: |-1\n   x\n',
      { k: 'y\nz' },
      'k: |-\n y\n z\n',
    ],
    [
      'a folded block scalar with an indentation indicator',
      'k: >1-\n   x\n',
      { k: 'y\nz' },
      'k: |-\n y\n z\n',
    ],
    [
      'a block scalar that begins with blank lines',
      'k: |\n\n \n    x\n',
      { k: 'y\nz\n' },
      'k: |\n    y\n    z\n',
    ],
    [
      'a block scalar with CRLF that begins with blank lines',
      'k: |\r\n\r\n    x\r\n',
      { k: 'y\nz\n' },
      'k: |\r\n    y\r\n    z\r\n',
    ],
    ['a block scalar without content', 'k: |\nl: 1\n', { k: 'y\nz\n', l: 1 }, 'k: |\n  y\n  z\nl: 1\n'],
    [
      'a folded block scalar that keeps its blank lines, above a removed field',
      'a: >+\n  x\n\nb: 1\n\n# c\n',
      { a: 'x\n\n' },
      'a: >+\n  x\n\n# c\n',
    ],
    [
      'a block scalar with an indentation indicator that keeps its blank lines, above a removed field',
      'a: |+2\n  x\n\nb: 1\n\n# c\n',
      { a: 'x\n\n' },
      'a: |+2\n  x\n\n# c\n',
    ],
    ['a key without a colon', 'm:\n  ? a\n  b: 1\n', { m: { a: 2, b: 1 } }, 'm:\n  ? a\n  : 2\n  b: 1\n'],
    ['a key without a colon, in braces', 'm: {? a, b: 1}\n', { m: { a: 2, b: 1 } }, 'm: {a: 2, b: 1}\n'],
    [
      'a map in its indentation, when it becomes a list',
      'm:\n   a: 1\nl:\n- x\n',
      { m: ['x'], l: ['x'] },
      'm:\n   - x\nl:\n- x\n',
    ],
    [
      'maps in braces, but not for a new list',
      'a: {b: c}\nd:\n  - 1\n',
      { a: { b: 'c' }, d: [1], e: ['f'], g: { h: 1 } },
      'a: {b: c}\nd:\n  - 1\ne:\n  - f\ng: {h: 1}\n',
    ],
    ['a block, even if another list is empty', 'a: []\n', { a: [], b: ['c'] }, 'a: []\nb:\n  - c\n'],
    [
      'dashes below their key, when a scalar becomes a list',
      'l:\n- a\nm: 1\n',
      { l: ['a'], m: ['b'] },
      'l:\n- a\nm:\n- b\n',
    ],
    [
      'wide dashes, but not for the fields of a new map',
      'l:\n-   a: 1\n',
      { l: [{ a: 1 }], m: { b: 1 } },
      'l:\n-   a: 1\nm:\n  b: 1\n',
    ],
    [
      'braces and brackets in their spaces',
      'x: {l: [ a ], m: {b: 1}, n: []}\n',
      { x: { l: ['a'], m: { b: 1 }, n: ['p'], o: { q: 1 }, r: ['s'] } },
      'x: {l: [ a ], m: {b: 1}, n: [ p ], o: {q: 1}, r: [ s ]}\n',
    ],
    [
      'brackets, with each item on a line of its own if one was',
      'l: [a, # c\n  b]\n',
      { l: ['new', 'a', 'm', 'o'] },
      'l: [new,\n  a,\n  m,\n  o]\n',
    ],
    [
      'brackets of several lines, with the comma at their end',
      'l: [ # c\n    a,\n# c\n    "b",\n  ] # d\n',
      { l: ['b', 'x', 'y'] },
      'l: [\n    "b",\n    x,\n    "y",\n  ] # d\n',
    ],
    [
      'braces of several lines, and all of a map in them that stays',
      'm: {\n  a: {\n    b: 1, # c\n  },\n  d: [1,\n    2],\n}\n',
      { m: { a: { b: 1 }, d: [2], e: 0 } },
      'm: {\n  a: {\n    b: 1, # c\n  },\n  d: [2],\n  e: 0,\n}\n',
    ],
    [
      'a pair without braces, unless it becomes two',
      'l: [a: 1, b: "x"]\n',
      { l: [{ a: 1, c: 2 }, { b: 'y' }] },
      'l: [{a: 1, c: 2}, b: "y"]\n',
    ],
    ['brackets behind an anchor', 'l: &x [ a ] # c\n', { l: ['b'] }, 'l: &x [ b ] # c\n'],
  ])('%s', (_name, text, target, expected) => {
    expect(editText(text, target)).toEqual({ text: expected, grain: 'places' });
  });
});

describe('a no-break space is not treated as blank', () => {
  test.each<[string, string, Fields, string]>([
    [
      'at the end of a removed comment after a dash',
      'l:\n- a: 1 # x\u00a0\n  # y\n  b: 2\n',
      { l: [{ b: 2 }] },
      'l:\n-\n  # y\n  b: 2\n',
    ],
    [
      'at the end of an item that moves',
      'l: [ a\u00a0, b ] # x\n',
      { l: ['b', 'a\u00a0'] },
      'l: [ b, a\u00a0 ] # x\n',
    ],
  ])('%s', (_name, text, target, expected) => {
    expect(editText(text, target)).toEqual({ text: expected, grain: 'places' });
  });
});

describe('a long list', () => {
  const list = (items: readonly string[]) => `apps:\n${items.map((item) => `  - ${item}\n`).join('')}`;

  it('keeps the lines of the remaining items', () => {
    const items = Array.from({ length: 900 }, (_, index) => `app-${index}`);
    const kept = items.filter((_, index) => index % 7 !== 0);
    expect(editYaml(list(items), { apps: kept })).toBe(list(kept));
  });

  it('keeps the comments beside the remaining items if the first of very many is removed', () => {
    const items = Array.from({ length: 1100 }, (_, index) => `app-${index}`);
    const lines = items.map((item) => `${item} # about ${item}`);
    expect(editYaml(list(lines), { apps: items.slice(1) })).toBe(list(lines.slice(1)));
  });

  it('is edited item by item if a comparison of all pairs would take too long', () => {
    const items = Array.from({ length: 3000 }, (_, index) => `app-${index}`);
    const changed = items.map((item, index) => (index % 2 === 0 ? `${item}-new` : item)).slice(0, -1);
    expect(editYaml(list(items), { apps: changed })).toBe(list(changed));
  });
});

describe('a long run of blanks takes linear time', () => {
  const blanks = ' '.repeat(200_000);

  it.each([
    ['in a comment, above an item that becomes a block', `a: #${blanks}x\nl:\n  - 1\n`, { l: [{ k: 'v' }] }],
    ['before items of a flow list that move', `l: [a,${blanks}b,${blanks}c]\n`, { l: ['c', 'a'] }],
  ])('%s', (_, text, target) => {
    const start = performance.now();
    expect(valueIn(editYaml(text, target))).toEqual(target);
    expect(performance.now() - start).toBeLessThan(3000);
  });
});

describe('items that move within a list', () => {
  const names = fc.uniqueArray(fc.constantFrom(...'abcdefghijkm'), { minLength: 1 });
  const forms: Record<string, (items: readonly string[]) => string> = {
    block: (items) => `apps:\n${items.map((name) => `  - ${name} # about ${name}\n`).join('')}`,
    'block with comments above': (items) =>
      `apps:\n${items.map((name, at) => `${at === 0 ? '' : `  # above ${name}\n`}  - ${name} # about ${name}\n`).join('')}`,
  };

  it('keep their lines and the comments inside', () => {
    const before = 'l:\n  - [a, # in\n     b] # beside\n  - x: 1 # x\n    y: 2\n  - z\n';
    const after = 'l:\n  - z\n  - x: 1 # x\n    y: 2\n  - [a, # in\n     b] # beside\n';
    const edited = editText(before, { l: ['z', { x: 1, y: 2 }, ['a', 'b']] });
    expect(edited).toEqual({ text: after, grain: 'places' });
  });

  it.each(Object.entries(forms))('keep their comments: %s', (_name, write) =>
    fc.assert(
      fc.property(names, names, (before, after) => {
        const { text, grain } = editText(write(before), { apps: after });
        expect(['nothing', 'places']).toContain(grain);
        const lines = text.split('\n');
        for (const name of after.filter((each) => before.includes(each))) {
          const at = lines.findIndex((line) => line.includes(`# about ${name}`));
          expect(lines[at]).toMatch(new RegExp(`^  (- )?${name},? # about ${name}$`));
          if (text.includes(`# above ${name}`)) expect(lines[at - 1]).toBe(`  # above ${name}`);
        }
      }),
    ),
  );
});

describe('long strings', () => {
  it('are not folded, even if they are long', () => {
    const long = `${'word '.repeat(400)}end`;
    expect(editYaml('a: x\n', { a: long, b: `${long}: ` })).toBe(`a: ${long}\nb: "${long}: "\n`);
  });
});

describe('renderYaml', () => {
  it('writes block style in the order of the target', () => {
    const target = {
      container_image: 'nginx:1.27',
      starting_ports: [8080, { '8443': '443' }],
      env_vars: { SCRIPT: 'set -e\nexec web\n', EMPTY: '', MODE: 'off' },
      volumes: [],
      nested: [['a', ['b']], { c: { d: null } }],
    };
    expect(renderYaml(target)).toBe(`container_image: nginx:1.27
starting_ports:
  - 8080
  - "8443": "443"
env_vars:
  SCRIPT: |
    set -e
    exec web
  EMPTY: ""
  MODE: "off"
volumes: []
nested:
  - - a
    - - b
  - c:
      d: null
`);
  });

  it('writes a map without fields as {}', () => {
    expect(renderYaml({})).toBe('{}\n');
  });
});
