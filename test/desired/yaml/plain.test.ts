import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readYaml } from '../../../src/desired/yaml/document.ts';
import { readPlain } from '../../../src/desired/yaml/plain.ts';
import { fields } from './random-app.ts';
import { randomYaml } from './random-yaml.ts';

const RUNS = Number(process.env['RUNS'] ?? 3000);

/** The path of each item of each top-level list. */
function itemsOf(value: unknown): [string, number][] {
  return Object.entries(value as Record<string, unknown>).flatMap(([key, list]) =>
    Array.isArray(list) ? list.map((_, index): [string, number] => [key, index]) : [],
  );
}

/** Returns whether a text is plain, after a check that the full parser reads the same from it. */
function isPlain(text: string): boolean {
  const plain = readPlain(text);
  if (plain === null) return false;
  const full = readYaml(text);
  if (!full.ok) throw new Error(`the full parser refuses ${JSON.stringify(text)}`);
  expect(plain.value).toStrictEqual(full.value.value);
  expect(JSON.stringify(plain.value)).toBe(JSON.stringify(full.value.value));
  for (const path of itemsOf(plain.value)) {
    expect([path, plain.positionOf(path)]).toEqual([path, full.value.positionOf(path)]);
  }
  return true;
}

const TOKENS = [
  ...[
    'a',
    'key',
    'b:',
    'c: ',
    '"d": ',
    "'e'",
    'true',
    'null',
    'Null: ',
    '12',
    '0',
    '007',
    '1.5',
    '1.',
    '0x1F',
    '0o7',
  ],
  ...[
    '1e3',
    '1_0',
    '12:30',
    '10.0.0.1',
    '2024-01-01',
    'a:1',
    'a: 1',
    'a #b',
    'a#b',
    '"x"',
    '"a\\n"',
    "'it''s'",
    '~',
    '.5',
  ],
  ...[
    '- ',
    '-',
    '- - ',
    '-a',
    '[',
    ']',
    '{',
    '}',
    '[a, b]',
    '[a,]',
    '[ ]',
    '{}',
    '{a: b}',
    '{"a": 1 , b: c}',
    '[1, "2"] ',
  ],
  ...[
    '? ',
    ': ',
    ':',
    ',',
    '#',
    ' #',
    ' # c',
    '&x ',
    '*x',
    '!t ',
    '|',
    '>',
    '%',
    '@',
    '`',
    '"',
    "'",
    '---',
    '...',
    '<<: ',
  ],
  ...[
    '__proto__: ',
    'constructor',
    '"__proto__": ',
    '\t',
    '\r',
    '\u00e9',
    '\u0085',
    '\u2028',
    '\ufeff',
    '😀',
    '\\',
    '/',
    '=',
  ],
];
const indent = fc.constantFrom('', '', '  ', '  ', ' ', '    ');
const line = fc
  .tuple(indent, fc.array(fc.constantFrom(...TOKENS), { maxLength: 4 }))
  .map(([spaces, tokens]) => spaces + tokens.join(''));
const scalars = [
  'web:1',
  '"8080"',
  "'x y'",
  '80',
  'true',
  'two words',
  '"# no"',
  'a/b',
  '""',
  '0.5',
  'no: pe',
  '-x',
  '01',
];
const scalar = fc.constantFrom(...scalars);
const key = fc.constantFrom('a', 'b', 'env', '"80"', 'x-y', 'true', '_z');
const tail = fc.constantFrom('', '', '', ' ', ' # why', '  #', '#');
const dashes = fc.constantFrom('- ', '-  ', '-');
/** Lines as they are in usual files, so that many of the random texts are plain. */
const likely = fc.oneof(
  fc
    .tuple(key, fc.constantFrom(':', ': '), fc.oneof(scalar, fc.constant('')), tail)
    .map((parts) => parts.join('')),
  fc.tuple(indent, dashes, scalar, tail).map((parts) => parts.join('')),
  fc.tuple(indent, dashes, key, fc.constant(': '), scalar, tail).map((parts) => parts.join('')),
  fc.tuple(indent, key, fc.constant(': '), scalar, tail).map((parts) => parts.join('')),
  fc
    .tuple(
      key,
      fc.constantFrom(': [', ':  [ '),
      fc.array(scalar, { maxLength: 3 }),
      fc.constantFrom(']', ' ]', ',]'),
      tail,
    )
    .map(([name, open, items, close, end]) => `${name}${open}${items.join(', ')}${close}${end}`),
  fc.tuple(key, key, scalar, tail).map(([name, inner, value, end]) => `${name}: {${inner}: ${value}}${end}`),
  fc.tuple(indent, fc.constantFrom('# note', '', '  ')).map((parts) => parts.join('')),
);

describe('readPlain', () => {
  it.each([
    'container_image: shop/web:1.4.0\n',
    '---\n# Whom to ask\na: 1\n\nb:\n- x\n- "80": "8080" # both\nc:\n  d: true\n  "80": e',
    'apps: [web, "x" , 12]\nper: { server: 2 }\nnone: []\n',
    'apps:\n    - a\n\n    # then\n    -  b # c\n',
    'a: "ä"\nb: 0.5\nc: 12:30\n',
  ])('reads the same as the full parser: %j', (text) => {
    expect(isPlain(text)).toBe(true);
  });

  it.each([
    '',
    'a\n',
    'a:\n',
    'a: null\n',
    'a: 1\na: 2\n',
    'a: b\n  c\n',
    'a: {b: {c: d}}\n',
    'a: 0x1F\n',
    'a: *b\n',
    'a: "\\n"\n',
    'a: "😀"\n',
    '__proto__: {a: b}\n',
    'true: 1\n',
    'a: 1\r\n',
    'a:\n  - b\n   - c\n',
    'a: [b,]\n',
    'a: |\n  b\n',
    '%YAML 1.2\n---\na: b\n',
    'a: 12345678901234567890\n',
  ])('returns null for a text that is not plain: %j', (text) => {
    expect(readPlain(text)).toBeNull();
  });

  it('reads the same as the full parser from random lines', () => {
    const texts = fc.array(fc.oneof({ weight: 3, arbitrary: likely }, { weight: 1, arbitrary: line }), {
      maxLength: 7,
    });
    let plain = 0;
    fc.assert(
      fc.property(texts, fc.constantFrom('', '\n'), (lines, end) => {
        if (isPlain(lines.join('\n') + end)) plain += 1;
      }),
      { numRuns: RUNS },
    );
    expect(plain).toBeGreaterThan(RUNS / 50);
  });

  it('reads the same as the full parser from random styles of an app', () => {
    fc.assert(
      fc.property(fields, fc.nat(), (value, seed) => void isPlain(randomYaml(value, seed).text)),
      { numRuns: RUNS },
    );
  });

  it('reads the same as the full parser from a plain text with random insertions', () => {
    const base = 'a: web:1\nb:\n  - x # y\n  - "80": "90"\nc: [d, 5]\ne:\n  f: "g"\n';
    const cuts = fc.tuple(
      fc.nat(base.length),
      fc.nat(3),
      fc.oneof(fc.constantFrom(...TOKENS), fc.string({ unit: 'grapheme', maxLength: 3 })),
    );
    fc.assert(
      fc.property(cuts, ([at, length, token]) => {
        isPlain(base.slice(0, at) + token + base.slice(at + length));
      }),
      { numRuns: RUNS * 3 },
    );
  });
});
