import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseObject, parseObjectText } from '../../src/desired/parse.ts';
import type { TextProblem } from '../../src/desired/problem.ts';
import { MAX_FILE_BYTES, MAX_PROBLEMS, readYaml } from '../../src/desired/yaml/document.ts';
import { DEFAULTS } from '../support/fleet.ts';

const KINDS = ['app', 'device_group'] as const;

/** A text repeated until the file is quite large; the largest possible would only take longer. */
function many(part: string): string {
  return part.repeat(Math.floor(MAX_FILE_BYTES / 4 / part.length));
}

/** Different short texts, 4000 of them. */
function numbered(write: (id: string) => string): string {
  return Array.from({ length: 4000 }, (_, count) => write(count.toString(36))).join('');
}

const BOMB = Array.from({ length: 12 }, (_, i) =>
  i === 0
    ? 'a0: &a0 ["x", "x"]'
    : `a${i}: &a${i} [${Array(9)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
).join('\n');

describe('a hostile text', () => {
  // Each of these has made some YAML parser run for minutes, use unlimited memory or crash.
  it.each<[string, string, string]>([
    ['an alias bomb', BOMB, 'yaml-alias'],
    ['many aliases', `a: &a x\nb: [${many('*a,')}x]`, 'yaml-alias'],
    ['as many opening brackets as fit', '['.repeat(39_000), 'yaml-depth'],
    ['as many opening braces as fit', '{'.repeat(39_000), 'yaml-depth'],
    ['pairs of brackets', many('[') + many(']'), 'yaml-depth'],
    ['maps within maps on one line', many('{a:'), 'yaml-depth'],
    ['lists within lists on one line', many('- '), 'yaml-depth'],
    ['keys within keys', many('? '), 'yaml-depth'],
    ['values within values', many(': '), 'yaml-depth'],
    ['values within values, all ended by a bracket', `${many(': ')}]`, 'yaml-depth'],
    ['keys within keys, all ended by a list', `${many('? ')}a: 1\n- b\n`, 'yaml-depth'],
    [
      'a staircase of maps',
      Array.from({ length: 300 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
      'yaml-depth',
    ],
    ['only closing brackets', many(']'), 'yaml-syntax'],
    ['only quotes', many('"'), 'yaml-syntax'],
    ['only anchors', many('&a '), 'yaml-syntax'],
    ['only tags', many('! '), 'yaml-syntax'],
    ['only directives', many('%a\n'), 'yaml-directive'],
    ['only documents', many('---\n'), 'yaml-syntax'],
    ['only tabs', many('\t\n'), 'field-missing'],
    ['only comments above a value of two lines', `a:\n${'#\n'.repeat(15_000)} b\n c\n`, 'field-unknown'],
    ['only line breaks', many('\n'), 'field-missing'],
    ['only comments', many('#\n'), 'field-missing'],
    ['one key as often as fits', many('a:\n'), 'yaml-syntax'],
    ['many keys', `{${numbered((id) => `${id},`)}}`, 'field-unknown'],
    ['many bad variables', `env_vars:\n${numbered((id) => ` ${id}: 1\n`)}`, 'field-invalid'],
    ['many bad ports', `starting_ports:\n${many('- x\n')}`, 'field-invalid'],
    ['one long word', many('x'), 'field-invalid'],
    ['one long text', `a: "${many('\\n').slice(0, -10)}`, 'yaml-syntax'],
  ])('is refused with few problems: %s', (_name, text, code) => {
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_FILE_BYTES);
    const parsed = parseObjectText('app', text, DEFAULTS);
    const problems = parsed.ok ? [] : parsed.problems;
    expect(problems.map((problem) => problem.code)).toContain(code);
    expect(problems.length).toBeLessThanOrEqual(MAX_PROBLEMS);
  });
});

/** Expects a problem to have a position in its text (or just behind its end), a code and a message. */
function expectComplete({ line, column, code, message }: TextProblem, text: string): void {
  const lines = text.split('\n');
  expect(line).toBeGreaterThanOrEqual(1);
  expect(line).toBeLessThanOrEqual(lines.length);
  expect(column).toBeGreaterThanOrEqual(1);
  expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 2);
  expect(code).toMatch(/^(file|yaml|field)-/);
  expect(message.length).toBeGreaterThan(5);
}

/** Tokens of YAML, and texts with a special meaning in it. */
const token = fc.oneof(
  fc.constantFrom(
    ...[
      'a',
      'apps',
      'container_image',
      'env_vars',
      '<<',
      '__proto__',
      'b c',
      '1',
      '-1.5',
      'true',
      '~',
      '.nan',
      '0x1F',
    ],
    ...[
      ':',
      ': ',
      '- ',
      '? ',
      ', ',
      '[',
      ']',
      '{',
      '}',
      '"',
      "'",
      '|',
      '>-',
      '&a',
      ' *a',
      '!',
      '!!str ',
      '!x ',
      '#',
      ' # ',
    ],
    ...[
      '---',
      '...',
      '%YAML 1.1',
      '%TAG ! x',
      '\n',
      '\n',
      '\n  ',
      '\r\n',
      '\t',
      '\n\t',
      '\ufeff',
      '\u2028',
      '\\',
      '\\ud800',
    ],
    '9007199254740993',
  ),
  fc.string({ unit: 'binary', maxLength: 4 }),
);
const yamlLike = fc.array(token, { maxLength: 30 }).map((tokens) => tokens.join(''));
const anyText = fc.oneof(
  { weight: 4, arbitrary: yamlLike },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
);

const VALID = Buffer.from(
  '# shop\ncontainer_image: "shop:1"\nenv_vars: {A: "1", B: b}\nstarting_ports:\n  - 80\n  - "8080": "80"\napps: [a, b]\n',
);

/** A valid file with a few bytes changed, or just bytes. */
const anyBytes = fc.oneof(
  fc.uint8Array({ maxLength: 64 }),
  fc
    .array(fc.tuple(fc.nat({ max: VALID.length - 1 }), fc.integer({ min: 0, max: 255 })), {
      minLength: 1,
      maxLength: 4,
    })
    .map((changes) => {
      const bytes = Buffer.from(VALID);
      for (const [index, byte] of changes) bytes[index] = byte;
      return bytes;
    }),
);

describe('random texts and bytes', () => {
  it('do not make readYaml throw, and every reported position lies within the text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const result = readYaml(text);
        if (!result.ok) {
          expect(result.problems.length).toBeGreaterThan(0);
          for (const problem of result.problems) expectComplete(problem, text);
          return;
        }
        for (const path of [[], ['apps', 0], ['a', 'b', 1]]) {
          const position = result.value.positionOf(path);
          expectComplete({ ...position, code: 'field-invalid', message: 'a message' }, text);
        }
      }),
      { numRuns: 1500 },
    );
  });

  it('do not make parseObject throw, and a valid object contains only text that can be written again', () => {
    fc.assert(
      fc.property(fc.constantFrom(...KINDS), fc.oneof(anyBytes, anyText.map(Buffer.from)), (kind, bytes) => {
        const parsed = parseObject(kind, bytes, DEFAULTS);
        if (parsed.ok) {
          const json = JSON.stringify(parsed.content);
          expect(json.isWellFormed()).toBe(true);
          expect(JSON.parse(json)).toEqual(parsed.content);
          return;
        }
        expect(parsed.problems.length).toBeGreaterThan(0);
        const text = Buffer.from(bytes).toString('utf8');
        for (const problem of parsed.problems) expectComplete(problem, text);
      }),
      { numRuns: 1500 },
    );
  });
});
