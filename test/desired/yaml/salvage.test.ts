import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readYaml } from '../../../src/desired/yaml/document.ts';
import { salvageYaml } from '../../../src/desired/yaml/edit.ts';
import { fields } from './random-app.ts';
import { randomYaml } from './random-yaml.ts';

const REST = '# the shop\n\nimage: a # pinned\n\n# why two\nper:\n  server: 2 # one a shelf\n';

describe('what can be read of a text that cannot be read as a whole', () => {
  it.each<[string, string, string | null]>([
    ['an alias', `${REST}env: *x # all\n# end\n`, `${REST}# end\n`],
    ['a merge key', `${REST}env:\n  # all\n  <<: *base\n  A: b\n\n# end\n`, `${REST}\n# end\n`],
    ['an anchor of its own stays', `base: &x 1\n${REST}`, `base: &x 1\n${REST}`],
    ['a tag', `${REST}env: !include x\n`, REST],
    ['a tab as indentation', `${REST}env:\n\tA: b\n`, REST],
    ['an unclosed quote', `env: "a\n${REST}`, REST],
    ['an unclosed bracket', `${REST}nets: [a, b\nrun: true\n`, `${REST}run: true\n`],
    ['a colon in a value', `env:\n  A: b: c\n${REST}`, REST],
    ['a key that stands twice: the first one stays', `${REST}image: b\n`, REST],
    ['a field at the left of a list', `${REST}apps:\n- a\n- *b\n# end\n`, `${REST}# end\n`],
    ['CRLF', `${REST}env: *x\n# end\n`.replaceAll('\n', '\r\n'), `${REST}# end\n`.replaceAll('\n', '\r\n')],
    ['a byte order mark', `\ufeff${REST}env: *x\n`, `\ufeff${REST}`],
    ['a marker above', `---\n${REST}env: *x\n`, `---\n${REST}`],
    ['a line separator in a comment', `${REST}env: *x\n# end\u2028: now\n`, `${REST}# end\u2028: now\n`],
    ['no line break at the end', `${REST}env: *x`, REST],
    [
      'a merge conflict',
      `${REST}<<<<<<< HEAD\nrun: true\n=======\nrun: false\n>>>>>>> x\n# end\n`,
      `${REST}run: true\n# end\n`,
    ],
    ['nothing but what cannot be read', '# a\nenv: *x # b\n# c\n', '# a\n# c\n'],
    ['no fields', '- a\n- *b\n', null],
    ['a directive', '%YAML 1.1\n---\na: 1\n', null],
    ['two documents', 'a: 1\n---\nb: 2\n', null],
    ['a text in braces', '{a: 1, b: *x}\n', null],
  ])('%s', (_name, text, expected) => {
    expect(salvageYaml(text)).toBe(expected);
  });

  it('is found below more lines than a call has arguments', () => {
    const many = '\n'.repeat(250_000);
    expect(salvageYaml(`env: *x\n${many}`)).toBe(many);
  });

  it('is every other field with its comments, whatever one field is', () => {
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
