import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fieldName, parseObject, parseObjectText } from '../../src/desired/parse.ts';
import type { ProblemCode } from '../../src/desired/problem.ts';
import { MAX_PROBLEMS } from '../../src/desired/yaml/document.ts';
import { appOf, DEFAULTS } from '../support/fleet.ts';

const LFS_POINTER =
  'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n';

const EMPTY_APP =
  'field-missing the file is empty; an app needs at least container_image, such as "container_image: nginx:1.27"';

describe('parseObject', () => {
  it('fills in the given defaults for missing fields only', () => {
    const bytes = Buffer.from('container_image: a\nrunning: false\n');
    const parsed = parseObject('app', bytes, { ...DEFAULTS, networks: ['fleet'] });
    expect(parsed).toEqual({
      ok: true,
      content: appOf({ container_image: 'a', running: false, networks: ['fleet'] }),
      memberPositions: [],
    });
  });

  it('reads the same with a byte order mark, other line ends, comments or another order', () => {
    const plain = parseObjectText('app', 'container_image: a\nenv_vars: {A: b}\n', DEFAULTS);
    const other = '\ufeff# shop\r\n---\r\nenv_vars:\r\n  A: b # c\r\n\r\ncontainer_image: "a"';
    expect(parseObject('app', Buffer.from(other), DEFAULTS)).toEqual(plain);
  });

  it('returns positions in the file, even after a byte order mark', () => {
    const parsed = parseObject('device_group', Buffer.from('\ufeffapps:\r\n  - a\r\n  - b'), DEFAULTS);
    expect(parsed).toMatchObject({
      memberPositions: [
        { line: 2, column: 5 },
        { line: 3, column: 5 },
      ],
    });
  });

  it.each<[string, 'app' | 'device_group', string | Buffer, `${ProblemCode} ${string}`]>([
    [
      'a file that is too large',
      'app',
      Buffer.alloc(65_537, '#'),
      'file-too-large has 65537 bytes; at most 65536 are read: split or shorten it',
    ],
    [
      'bytes that are not text',
      'app',
      Buffer.from([0xff, 0xfe]),
      'file-not-text is not UTF-8 text; save it as UTF-8',
    ],
    [
      'a Git LFS pointer',
      'device_group',
      LFS_POINTER,
      'file-lfs-pointer is a Git LFS pointer, not the file itself; remove it from LFS and commit the text',
    ],
    [
      'a syntax error',
      'app',
      'container_image: @a',
      'yaml-syntax Plain value cannot start with reserved character @; put it in quotes',
    ],
    ['an empty app', 'app', '', EMPTY_APP],
    ['a file of comments', 'app', '# nothing yet\n', EMPTY_APP],
    [
      'a file with only ---',
      'device_group',
      '---\n',
      'field-missing the file is empty; a device group needs apps, such as "apps: [web]"',
    ],
    ['null', 'app', 'null', EMPTY_APP],
    ['false', 'app', 'false', 'field-invalid the file must be a map of fields, not true or false'],
    ['zero', 'app', '0', 'field-invalid the file must be a map of fields, not a number'],
    ['an empty text in quotes', 'app', '""', 'field-invalid the file must be a map of fields, not a string'],
    ['a word', 'app', 'latest', 'field-invalid the file must be a map of fields, not a string'],
    [
      'a list',
      'device_group',
      '[a]',
      'field-invalid the file must be a map of fields, not a list; a device group needs apps, such as "apps: [web]"',
    ],
    [
      'the record of the API',
      'device_group',
      'apps: []\n_id: x',
      'field-unknown _id does not belong in a file: a device group is named by its file name, and the manager assigns ids; remove it',
    ],
  ])('refuses %s', (_name, kind, content, expected) => {
    const parsed = parseObject(kind, Buffer.from(content), DEFAULTS);
    const problems = parsed.ok ? [] : parsed.problems;
    expect(problems.map(({ code, message }) => `${code} ${message}`)).toEqual([expected]);
  });

  it('reports at most 20 problems of one file', () => {
    const ports = Array.from({ length: 100 }, () => '  - x\n').join('');
    const parsed = parseObjectText('app', `container_image: a\nstarting_ports:\n${ports}`, DEFAULTS);
    expect(parsed.ok ? [] : parsed.problems.map(({ line }) => line)).toEqual(
      Array.from({ length: MAX_PROBLEMS }, (_, index) => 3 + index),
    );
  });

  it('does not change the defaults', () => {
    const before = structuredClone(DEFAULTS);
    parseObjectText('app', 'container_image: a', DEFAULTS);
    expect(DEFAULTS).toEqual(before);
  });

  it('reads every app that is written as JSON', () => {
    const text = fc.string({ unit: 'grapheme' });
    const fields = fc.record({
      container_image: fc.stringMatching(/^[a-z0-9]{1,9}(\/[a-z]{1,5})?:[A-Za-z0-9_]{1,9}$/),
      env_vars: fc.dictionary(
        text.filter((name) => name !== '' && !/[=\0]|^(__proto__|constructor|prototype)$/.test(name)),
        text.filter((value) => !value.includes('\0')),
      ),
      running: fc.boolean(),
      containers_per: fc.record({ cpu: fc.double({ min: 2 ** -10, max: 1e6, noNaN: true }) }),
    });
    fc.assert(
      fc.property(fields, (app) => {
        const json = JSON.stringify(app).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (char) => {
          return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
        });
        expect(parseObjectText('app', json, DEFAULTS)).toEqual({
          ok: true,
          content: appOf(app),
          memberPositions: [],
        });
      }),
    );
  });
});

describe('fieldName', () => {
  it.each<[(string | number)[], string]>([
    [[], ''],
    [['running'], 'running'],
    [['starting_ports', 0], 'starting_ports[0]'],
    [['starting_ports', 1, '8080'], 'starting_ports[1].8080'],
    [['env_vars', 'A.B'], 'env_vars.A.B'],
  ])('writes %j as %s', (path, name) => {
    expect(fieldName(path)).toBe(name);
  });
});

describe('the file of a device', () => {
  it.each<[string, string, object]>([
    [
      'its group and variables',
      'device_group: stores\nvariables: {TILL: "7"}\n',
      { device_group: 'stores', variables: { TILL: '7' } },
    ],
    ['nothing', '', { variables: {} }],
    ['a comment alone', '# in the cellar\n', { variables: {} }],
    ['an empty map', '{}\n', { variables: {} }],
  ])('can have %s', (_, text, content) => {
    expect(parseObjectText('device', text, DEFAULTS)).toMatchObject({ ok: true, content });
  });

  it.each<[string, string, RegExp]>([
    [
      'a variable that every device has',
      'variables: {name: x}\n',
      /^variables.name is not a valid name of a variable/,
    ],
    ['a variable with a dash', 'variables: {a-b: x}\n', /^variables.a-b is not a valid name of a variable/],
    [
      'a number',
      'variables: {TILL: 7}\n',
      /^variables.TILL must be a string, not a number; write it in quotes$/,
    ],
    ['an unknown field', 'group: stores\n', /^group is not a known field/],
    [
      'the fields of an app',
      'container_image: a\n',
      /^container_image is a field of apps, .* move it to apps\/$/,
    ],
    ['a list', '- a\n', /must be a map of fields/],
  ])('cannot have %s', (_, text, message) => {
    const parsed = parseObjectText('device', text, DEFAULTS);
    expect(parsed.ok ? '' : parsed.problems[0]?.message).toMatch(message);
  });

  it('is known in the folder of another kind', () => {
    const parsed = parseObjectText('app', 'device_group: stores\n', DEFAULTS);
    expect(parsed.ok ? '' : parsed.problems[0]?.message).toMatch(/move it to devices\/$/);
  });
});
