import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeText, MAX_FILE_BYTES, MAX_PROBLEMS, readYaml } from '../../src/desired/yaml/document.ts';

/** The value, or `line:column code message` of every problem. */
function read(text: string): unknown {
  const result = readYaml(text);
  if (result.ok) return { value: result.value.value };
  return result.problems.map((each) => `${each.line}:${each.column} ${each.code} ${each.message}`);
}

const DEPTH = 'yaml-depth is nested too deeply; at most 32 levels are read';
const INTEGER = 'yaml-integer whole numbers beyond 2^53 are not exact; write this one in quotes';
const DIRECTIVE = 'yaml-directive remove the lines that begin with "%"; only YAML 1.2 is read';
const TAG =
  'yaml-tag remove this tag (the word after "!"); only plain values are read. Put it in quotes if it is a value that begins with "!"';
const ALIAS =
  'yaml-alias write the value out instead of this alias; put it in quotes if it is a value that begins with "*"';
const TWICE = 'yaml-syntax duplicate key; keep only one';
const KEY =
  'yaml-syntax keys must be plain text; a list or map cannot be a key: put a value that begins with "{" or "[" in quotes';
const MISSING =
  'yaml-syntax a closing quote or bracket, a comma, or the colon and space after a key is missing here';
const INDENT = 'yaml-syntax the indentation does not match the lines above, or a closing bracket is missing';
const SECOND = 'yaml-syntax a file holds one object; remove everything from the second "---" on';

describe('decodeText', () => {
  const NOT_TEXT = 'is not UTF-8 text; save it as UTF-8';

  it.each<[string, Uint8Array, string]>([
    ['an empty file', Buffer.from(''), ''],
    ['text beyond ASCII', Buffer.from('é世😀'), 'é世😀'],
    ['a byte order mark, which is kept', Buffer.from('\ufeffa: 1'), '\ufeffa: 1'],
    ['a file of the maximum size', Buffer.alloc(MAX_FILE_BYTES, 'a'), 'a'.repeat(MAX_FILE_BYTES)],
  ])('decodes %s', (_name, bytes, text) => {
    expect(decodeText(bytes)).toEqual({ ok: true, value: text });
  });

  it.each<[string, Uint8Array, string, string]>([
    ['UTF-16 with a mark', Buffer.from('\ufeffa: 1', 'utf16le'), 'file-not-text', NOT_TEXT],
    ['UTF-16 without a mark', Buffer.from('a: 1', 'utf16le'), 'file-not-text', NOT_TEXT],
    ['Latin-1', Buffer.from('a: é', 'latin1'), 'file-not-text', NOT_TEXT],
    ['a surrogate in UTF-8', Buffer.from([0xed, 0xa0, 0x80]), 'file-not-text', NOT_TEXT],
    ['a NUL character', Buffer.from('a: \0'), 'file-not-text', NOT_TEXT],
    ['an executable', Buffer.from('7f454c4602010100', 'hex'), 'file-not-text', NOT_TEXT],
    [
      'a file that is one byte too large',
      Buffer.alloc(MAX_FILE_BYTES + 1, 'a'),
      'file-too-large',
      'has 65537 bytes; at most 65536 are read: split or shorten it',
    ],
  ])('refuses %s', (_name, bytes, code, message) => {
    expect(decodeText(bytes)).toEqual({ ok: false, problems: [{ line: 1, column: 1, code, message }] });
  });
});

describe('readYaml reads', () => {
  it.each<[string, string, unknown]>([
    ['an empty text', '', null],
    ['blank lines', '\n \n\t\n', null],
    ['comments only', '# a\n\n# b', null],
    ['only ---', '---', null],
    ['--- and ...', '---\n...\n', null],
    ['a byte order mark', '\ufeffa: 1', { a: 1 }],
    ['a byte order mark alone', '\ufeff', null],
    ['a byte order mark before an indented map', '\ufeff  a: 1\n  b: 2\n', { a: 1, b: 2 }],
    ['a byte order mark before nested lists', '\ufeff- - 1\n  - 2\n- 3', [[1, 2], 3]],
    ['a byte order mark before an indented list', '\ufeff  - a\n  - b\n', ['a', 'b']],
    ['CRLF', 'a: 1\r\nb:\r\n  - c # d\r\n', { a: 1, b: ['c'] }],
    ['a lone CR, which does not break the line', 'a: b\rc', { a: 'b\rc' }],
    ['no line break at the end', 'a: 1', { a: 1 }],
    ['an end marker of the document', 'a: 1\n...\n', { a: 1 }],
    ['booleans of YAML 1.1, as text', '[yes, No, on, OFF, y]', ['yes', 'No', 'on', 'OFF', 'y']],
    ['dates, as text', '[2001-12-14, 2001-12-14T21:59:43Z]', ['2001-12-14', '2001-12-14T21:59:43Z']],
    ['numbers of YAML 1.1, as text or decimal', '[1_000, 0b11, 1:30, 010]', ['1_000', '0b11', '1:30', 10]],
    ['numbers', '[0x1F, 0o17, 1e3, -0.5, 9007199254740991]', [31, 15, 1000, -0.5, 9_007_199_254_740_991]],
    ['infinities and NaN', '[.inf, -.INF, .nan]', [Infinity, -Infinity, Number.NaN]],
    ['spellings of null, and an empty string', '[null, ~, Null, ""]', [null, null, null, '']],
    [
      'keys that look like numbers, booleans or null, as text',
      '{1: a, true: b, null: c, 1.50: d}',
      { 1: 'a', true: 'b', null: 'c', '1.50': 'd' },
    ],
    ['an empty key', ': a', { '': 'a' }],
    ['<< as a plain key', '<<: {a: 1}', { '<<': { a: 1 } }],
    ['anchors without aliases', 'a: &x 1\nb: &y [c]', { a: 1, b: ['c'] }],
    ['core tags that fit', '!!map {a: !!str 1, b: !!int "2"}', { a: '1', b: 2 }],
    ['block texts', 'a: |\n  b\n   c\nd: >-\n  e\n  f\n', { a: 'b\n c\n', d: 'e f' }],
    ['#comments above a value', 'a:\n#c\n  1\nb:\n  -\n #d\n    x\n  - y\n', { a: 1, b: ['x', 'y'] }],
    ['comments below a blank line, above a value', 'a:\n\n# c\n  1\nb: 2\n', { a: 1, b: 2 }],
    ['comments after a tab, above a value', 'a:\n  b:\n\t# c\n    1\n  d: 2\n', { a: { b: 1, d: 2 } }],
    ['#comments above a value of several lines', 'a:\n#c\n  x\n  y\nb: 2\n', { a: 'x y', b: 2 }],
    ['#comments above an anchor, and below it', 'a:\n#c\n  &x\n#d\n  1\nb: 2\n', { a: 1, b: 2 }],
    ['#comments between a key and its colon', '? a\n#c\n:\n#d\n  x\nb: 1\n', { a: 'x', b: 1 }],
    ['block texts that look like such comments', 'a: |\n  b:\n  #c\n    d\n', { a: 'b:\n#c\n  d\n' }],
    [
      'names of harmless JavaScript properties',
      'toString: 1\nhasOwnProperty: 2',
      { toString: 1, hasOwnProperty: 2 },
    ],
    ['32 levels', `${'['.repeat(32)}${']'.repeat(32)}`, JSON.parse(`${'['.repeat(32)}${']'.repeat(32)}`)],
  ])('%s', (_name, text, value) => {
    expect(read(text)).toEqual({ value });
  });
});

describe('readYaml refuses', () => {
  it.each<[string, string, string[]]>([
    ['a tab as indentation', 'a:\n\tb: 1', ['2:1 yaml-syntax indent with spaces, not with tabs']],
    ['an unclosed quote', 'a: "x\nb: 1\n', [`3:1 ${MISSING}`]],
    ['a line without a colon', 'a: x\nrunning true\n', [`2:1 ${MISSING}`]],
    ['an unclosed list', 'a: [b, c\nd: 1', [`2:1 ${INDENT}`]],
    ['two documents', 'a: 1\n---\nb: 1', [`2:1 ${SECOND}`]],
    [
      'a repeated key, at its column without a byte order mark',
      '\ufeff{a: 1, a: 1}',
      ['1:8 yaml-syntax duplicate key; keep only one'],
    ],
    ['two documents with an end between them', 'a: 1\n...\nb: 1', [`3:1 ${SECOND}`]],
    ['a duplicate key', 'a: 1\nb: 2\n"a": 3', [`3:1 ${TWICE}`]],
    ['each duplicate key of a nested map', 'a: {b: 1, c: 2, b: 3, b: 4}', [`1:17 ${TWICE}`, `1:23 ${TWICE}`]],
    ['a duplicate empty key', '{: a, "": b}', [`1:7 ${TWICE}`]],
    ['a list as key', '? [a]\n: b', [`1:3 ${KEY}`]],
    ['an alias', 'a: &x 1\nb: *x', [`2:4 ${ALIAS}`]],
    ['an alias without an anchor', 'a: *x', [`1:4 ${ALIAS}`]],
    ['a merge key', 'a: &x {b: 1}\nc:\n  <<: *x\n', [`3:7 ${ALIAS}`]],
    ['a private tag', 'a: !secret x', [`1:4 ${TAG}`]],
    ['a tag for a date', 'a: !!timestamp 2001-12-14', [`1:16 ${TAG}`]],
    ['a tag for binary', 'a: !!binary aGk=', [`1:13 ${TAG}`]],
    ['a tag for a set', 'a: !!set {b}', [`1:10 ${TAG}`]],
    ['a tag for a JavaScript function', 'a: !!js/function "x"', [`1:4 ${TAG}`]],
    ['a core tag that does not fit its value', 'a: !!int x', [`1:4 ${TAG}`]],
    ['%YAML 1.1', '%YAML 1.1\n---\na: yes', [`1:1 ${DIRECTIVE}`]],
    ['%YAML 1.2', '%YAML 1.2\n---\na: yes', [`1:1 ${DIRECTIVE}`]],
    ['%TAG', '%TAG ! tag:example.com,2000:\n---\na: b', [`1:1 ${DIRECTIVE}`]],
    ['another directive', '%HELLO\n---\na: b', [`1:1 ${DIRECTIVE}`]],
    ['__proto__', '__proto__: {a: 1}', ['1:1 yaml-key "__proto__" cannot be a key; choose another name']],
    [
      '"__proto__" in quotes',
      'a: {"__proto__": 1}',
      ['1:5 yaml-key "__proto__" cannot be a key; choose another name'],
    ],
    [
      'constructor in a list',
      'a: [constructor: 1]',
      ['1:5 yaml-key "constructor" cannot be a key; choose another name'],
    ],
    ['prototype', '? prototype', ['1:3 yaml-key "prototype" cannot be a key; choose another name']],
    ['a whole number beyond 2^53', 'a: 9007199254740993', [`1:4 ${INTEGER}`]],
    ['a negative whole number beyond 2^53', 'a: -9007199254740993', [`1:4 ${INTEGER}`]],
    ['a hexadecimal number beyond 2^53', 'a: 0x20000000000001', [`1:4 ${INTEGER}`]],
    ['a whole number with an exponent beyond 2^53', 'a: 1e300', [`1:4 ${INTEGER}`]],
    ['33 levels of lists', `a: ${'['.repeat(32)}`, [`1:35 ${DEPTH}`]],
    [
      '33 levels of maps',
      Array.from({ length: 34 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
      [`33:33 ${DEPTH}`],
    ],
    [
      'a text for several reasons at once',
      'a: *x\nb: 9007199254740993\nb: 1\nconstructor: 1\n',
      [
        `3:1 ${TWICE}`,
        `1:4 ${ALIAS}`,
        `2:4 ${INTEGER}`,
        '4:1 yaml-key "constructor" cannot be a key; choose another name',
      ],
    ],
  ])('%s', (_name, text, problems) => {
    expect(read(text)).toEqual(problems);
  });

  it('more comments above values than it can distinguish from the values', () => {
    expect(read(`a:\n${'-\n#c\n  x\n'.repeat(20)}`)).toEqual([
      expect.stringMatching(/^\d+:1 yaml-syntax move this comment above its key or dash; /),
    ]);
  });

  it('with the message of the parser if there is no better one', () => {
    expect(read('a: @b')).toEqual([
      '1:4 yaml-syntax Plain value cannot start with reserved character @; put it in quotes',
    ]);
  });

  it('many values that it does not read, with at most 20 problems', () => {
    expect(read('- *x\n'.repeat(50))).toHaveLength(MAX_PROBLEMS);
  });

  it.each(['a: @b\n', '[]', '&a ', '! ', '"', '- !x y\n'])(
    '%j many times, with the first problem',
    (text) => {
      expect(read(`x: ${text}${text.repeat(50)}`)).toHaveLength(1);
    },
  );

  it.each<[string, (count: number) => string]>([
    ['lists', (count) => '[]\n'.repeat(count / 3)],
    ['comments', (count) => '#\n'.repeat(count / 2)],
    ['blank lines', (count) => '\n'.repeat(count)],
  ])('a text of more than 40,000 words, signs and line breaks, without parsing it: %s', (_name, textOf) => {
    const problem =
      '1:1 file-too-large has more than 40000 words, signs and line breaks, and is not read: split or shorten it';
    expect(read(textOf(40_002))).toEqual([problem]);
    expect(read(textOf(39_990))).not.toEqual([problem]);
  });
});

describe('positionOf', () => {
  const text = '\ufeff# first\nenv:\n  "A B": 1\n  C: {d: [e,   f]}\nports:\n  - 80\n  - {8080: 80}\n';
  const result = readYaml(text);
  const positionOf = result.ok ? result.value.positionOf : undefined;

  it.each<[string, (string | number)[], string]>([
    ['the start of the content', [], '2:1'],
    ['a field', ['env'], '2:1'],
    ['a key in quotes', ['env', 'A B'], '3:3'],
    ['a key of a nested map', ['env', 'C', 'd'], '4:7'],
    ['an item of a list in brackets', ['env', 'C', 'd', 1], '4:16'],
    ['an item on its own line', ['ports', 0], '6:5'],
    ['a key in an item', ['ports', 1, '8080'], '7:6'],
    ['the parent of a missing key', ['env', 'X'], '2:1'],
    ['the nearest existing parent of a missing path', ['env', 'C', 'x', 3, 'y'], '4:3'],
    ['the list of an item beyond its end', ['ports', 2], '5:1'],
    ['the scalar of a path that goes below it', ['env', 'A B', 'x'], '3:3'],
    ['the start of the content for a missing top-level key', ['x', 0], '2:1'],
  ])('finds %s', (_name, path, expected) => {
    const { line, column } = positionOf?.(path) ?? { line: 0, column: 0 };
    expect(`${line}:${column}`).toBe(expected);
  });

  it('returns the first position for an empty text', () => {
    const empty = readYaml('');
    expect(empty.ok && empty.value.positionOf(['a'])).toEqual({ line: 1, column: 1 });
  });

  it('finds each key and item of a random text', () => {
    const word = fc.stringMatching(/^[a-z]{1,3}$/);
    fc.assert(
      fc.property(fc.dictionary(word, fc.array(word, { maxLength: 3 })), (value) => {
        const lines = Object.entries(value).flatMap(([key, items]) => [
          `${key}:`,
          ...items.map((item) => `  - ${item}`),
        ]);
        const read = readYaml(lines.join('\n'));
        if (!read.ok) throw new Error('the text is valid');
        for (const [key, items] of Object.entries(value)) {
          const top = lines.indexOf(`${key}:`) + 1;
          expect(read.value.positionOf([key])).toEqual({ line: top, column: 1 });
          items.forEach((_, index) => {
            expect(read.value.positionOf([key, index])).toEqual({ line: top + 1 + index, column: 5 });
          });
        }
      }),
    );
  });
});
