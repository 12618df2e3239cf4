import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readYaml } from '../../../src/desired/yaml/document.ts';
import { salvageYaml } from '../../../src/desired/yaml/edit.ts';
import { fields } from './random-app.ts';
import { randomYaml } from './random-yaml.ts';

const REST = '# the shop\n\nimage: a # pinned\n\n# why two\nper:\n  server: 2 # one a shelf\n';

describe('salvageYaml', () => {
  it.each<[string, string, string | null]>([
    ['removes a field with an alias', `${REST}env: *x # all\n# end\n`, `${REST}# end\n`],
    [
      'removes a field with a merge key',
      `${REST}env:\n  # all\n  <<: *base\n  A: b\n\n# end\n`,
      `${REST}\n# end\n`,
    ],
    ['keeps an anchor without aliases', `base: &x 1\n${REST}`, `base: &x 1\n${REST}`],
    ['removes a field with a tag', `${REST}env: !include x\n`, REST],
    ['removes a field indented with a tab', `${REST}env:\n\tA: b\n`, REST],
    ['removes a field with an unclosed quote', `env: "a\n${REST}`, REST],
    ['removes a field with an unclosed bracket', `${REST}nets: [a, b\nrun: true\n`, `${REST}run: true\n`],
    ['removes a field with a colon in a value', `env:\n  A: b: c\n${REST}`, REST],
    ['keeps the first of two equal keys', `${REST}image: b\n`, REST],
    [
      'removes a field with an alias in a list that is not indented',
      `${REST}apps:\n- a\n- *b\n# end\n`,
      `${REST}# end\n`,
    ],
    [
      'keeps CRLF',
      `${REST}env: *x\n# end\n`.replaceAll('\n', '\r\n'),
      `${REST}# end\n`.replaceAll('\n', '\r\n'),
    ],
    ['keeps a byte order mark', `\ufeff${REST}env: *x\n`, `\ufeff${REST}`],
    ['keeps a document marker', `---\n${REST}env: *x\n`, `---\n${REST}`],
    [
      'keeps a line separator in a comment',
      `${REST}env: *x\n# end\u2028: now\n`,
      `${REST}# end\u2028: now\n`,
    ],
    ['removes a last field without a line break', `${REST}env: *x`, REST],
    [
      'removes the lines of a merge conflict and its second side',
      `${REST}<<<<<<< HEAD\nrun: true\n=======\nrun: false\n>>>>>>> x\n# end\n`,
      `${REST}run: true\n# end\n`,
    ],
    ['keeps only the comments of a text without readable fields', '# a\nenv: *x # b\n# c\n', '# a\n# c\n'],
    ['returns null for a text without fields', '- a\n- *b\n', null],
    ['returns null for a text with a directive', '%YAML 1.1\n---\na: 1\n', null],
    ['returns null for two documents', 'a: 1\n---\nb: 2\n', null],
    ['returns null for a map in braces', '{a: 1, b: *x}\n', null],
  ])('%s', (_name, text, expected) => {
    expect(salvageYaml(text)).toBe(expected);
  });

  it('reads a text of many lines', () => {
    const many = '\n'.repeat(30_000);
    expect(salvageYaml(`env: *x\n${many}`)).toBe(many);
  });

  it('keeps every other field with its comments, for any broken field', () => {
    const broken = fc.constantFrom(
      'bad: *x',
      'bad: "a',
      'bad: [a',
      'bad:\n  <<: *y',
      'bad:\n\tc: 1',
      'bad: @a',
    );
    const spot = fc.nat({ max: 5 });
    return fc.assert(
      fc.property(fields, fc.integer(), broken, spot, (value, seed, bad, at) => {
        const { chunks } = randomYaml(value, seed);
        const own = chunks.filter(({ key, lines }) => {
          const read = readYaml(`${lines.join('\n')}\n`);
          return read.ok && Object.hasOwn(read.value.value as object, key) && /^\w/.test(lines[0] ?? '');
        });
        fc.pre(own.length > 0 && !Object.hasOwn(value, 'bad'));
        const texts = own.map(({ lines }, index) => `# c${index}\n${lines.join('\n')}\n`);
        const all = [...texts.slice(0, at), `${bad}\n`, ...texts.slice(at)].join('');
        expect(readYaml(all).ok).toBe(false);
        expect(salvageYaml(all)).toBe(texts.join(''));
      }),
    );
  });
});
