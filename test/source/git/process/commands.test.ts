import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../../../src/errors.ts';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { refName } from '../../../../src/source/git/process/ref-names.ts';

const ID = 'a'.repeat(40);
const LONG_ID = '0123456789abcdef'.repeat(4);

describe('refName', () => {
  it.each([
    'refs/heads/main',
    'refs/heads/team/a-b_c.d',
    'refs/heads/-starts-with-dash',
    'refs/heads/größe',
    'refs/heads/発展',
    'refs/heads/wide\u3000space',
    'refs/heads/no-break\u00a0space',
    "refs/heads/it's;$(x)`y`&|<>!",
    'refs/heads/@',
    'refs/heads/a@b',
    'refs/heads/lock',
    'refs/heads/a.lockx',
    'refs/holdfast/publishing',
    'refs/remotes/origin/main',
  ])('accepts %j', (text) => {
    expect(refName(text)).toBe(text);
  });

  it.each([
    '',
    'main',
    'HEAD',
    'refs/heads',
    'refs/heads/',
    'refs/tags/v1',
    'refs/remotes/other/main',
    'refs/heads/a b',
    'refs/heads/a..b',
    'refs/heads/a//b',
    'refs/heads//a',
    'refs/heads/.hidden',
    'refs/heads/a/.hidden',
    'refs/heads/a.',
    'refs/heads/a/',
    'refs/heads/a.lock',
    'refs/heads/a.lock/b',
    'refs/heads/a@{1}',
    'refs/heads/a~1',
    'refs/heads/a^',
    'refs/heads/a:b',
    'refs/heads/a?',
    'refs/heads/a*',
    'refs/heads/a[b',
    'refs/heads/a\\b',
    'refs/heads/line\u2028separator/../../a',
    'refs/heads/line\u2029separator.lock',
    'refs/heads/a\nb',
    'refs/heads/main\n',
    'refs/heads/a\0b',
    'refs/heads/a\u007fb',
    ' refs/heads/main',
    '--refs/heads/main',
    '--upload-pack=x',
  ])('refuses %j', (text) => {
    expect(() => refName(text)).toThrow(expect.objectContaining({ kind: 'invalid' }));
  });

  it('shortens a refused name in the error', () => {
    expect(() => refName('x'.repeat(10_000))).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{0,300}$/) }),
    );
  });
});

/** Every command, and the kinds of its parameters. Calls with markers show where in its arguments each one goes. */
const TEMPLATES: readonly (readonly [name: string, takes: readonly ('id' | 'ref' | 'record' | 'path')[]])[] =
  [
    ['version', []],
    ['locate', []],
    ['objectFormat', []],
    ['checkMirror', []],
    ['initBare', []],
    ['initBareLong', []],
    ['checkObjects', []],
    ['fetch', ['ref', 'record']],
    ['fetchRecord', ['record']],
    ['push', ['ref', 'id', 'id']],
    ['cleanUp', []],
    ['hasGcHook', []],
    ['init', []],
    ['addAll', []],
    ['writeTree', []],
    ['commitText', ['id']],
    ['commitTree', ['id']],
    ['symbolicHead', []],
    ['symbolic', ['ref']],
    ['batchObjects', []],
    ['listTree', ['id']],
    ['listTop', ['id']],
    ['branches', []],
    ['originBranches', []],
    ['refTip', ['ref']],
    ['touchedPaths', ['id', 'id', 'path']],
    ['treeEntry', ['id', 'path']],
    ['diffTrees', []],
    ['isAncestor', ['id', 'id']],
    ['commonAncestor', ['id', 'id']],
    ['mergeTree', ['id', 'id']],
    ['lastChange', ['id', 'path']],
    ['madeBy', []],
    ['log', ['id', 'id', 'path']],
    ['authors', ['id', 'id']],
    ['blame', ['id', 'path']],
    ['ignored', ['path']],
    ['indexEntries', ['path']],
    ['historyPaths', ['path']],
    ['newestCommits', []],
    ['fastImport', []],
    ['switchTree', ['id', 'id']],
    ['deletedFiles', []],
    ['programSettings', []],
    ['ignoresCase', []],
    ['remoteAddresses', []],
    ['refNames', []],
    ['listWorkTrees', []],
    ['updateRefs', []],
    ['fetchOne', ['ref']],
    ['originRefs', ['ref', 'ref', 'ref']],
    ['topAndPrefix', []],
    ['userStatus', ['path']],
    ['userAdd', []],
    ['userCommit', ['path']],
    ['userHead', []],
    ['userReset', []],
  ];

const NAME = String.raw`refs\/[^ \p{Cc}:-][^ \p{Cc}:]*`;
const HASH = '([0-9a-f]{40}|[0-9a-f]{64})';
/** The forms that an argument with a parameter in it can have. */
const SHAPES = [
  String.raw`^\^?${HASH}$`,
  `^${NAME}$`,
  String.raw`^${NAME}\^\{(commit)?\}$`,
  String.raw`^\+(refs\/)?heads\/[^ \p{Cc}:]+:refs\/remotes\/origin\/[^ \p{Cc}:]+$`,
  String.raw`^\+refs\/holdfast\/record\/[0-9a-f]{12}\*:refs\/holdfast\/origin-record\/[0-9a-f]{12}\*$`,
  `^${HASH}:${NAME}$`,
  `^--force-with-lease=${NAME}:${HASH}?$`,
].map((shape) => new RegExp(shape, 'u'));

const MARKS = {
  id: ID,
  ref: 'refs/heads/mark',
  record: 'refs/holdfast/record/0123456789ab',
  path: '\u0001mark',
} as const;

function build(name: string, texts: readonly string[]): readonly string[] {
  if (name === 'log') {
    const [from = '', until = '', path = ''] = texts;
    return commands.log({ from, until, limit: 50, skipsFirst: false }, path, true).args;
  }
  return (commands[name as keyof typeof commands] as (...given: string[]) => { args: readonly string[] })(
    ...texts,
  ).args;
}

const texts = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(ID, LONG_ID, 'refs/heads/main', '--output=/tmp/x', '-c', '--', '', `${ID}\n--exec=x`),
  fc.string({ unit: 'grapheme' }).map((text) => `--${text}`),
  fc.string({ unit: 'grapheme' }).map((text) => `refs/heads/${text}`),
);

describe('commands', () => {
  it('are all listed in this test', () => {
    expect(TEMPLATES.map(([name]) => name).sort()).toEqual(Object.keys(commands).sort());
  });

  it.each(TEMPLATES)(
    '%s has fixed arguments, and accepts only ids, refs and paths as parameters',
    (name, takes) => {
      const template = build(
        name,
        takes.map((kind) => MARKS[kind]),
      );
      fc.assert(
        fc.property(fc.array(texts, { minLength: takes.length, maxLength: takes.length }), (given) => {
          let args: readonly string[];
          try {
            args = build(name, given);
          } catch (error) {
            expect(error).toBeInstanceOf(HoldfastError);
            return;
          }
          expect(args).toHaveLength(template.length);
          for (const [index, arg] of args.entries()) {
            const mark = template[index] as string;
            if (arg === mark) continue;
            // Only parameters differ: ids and refs of the right form, and paths behind the end of the options or an option that takes one.
            const ends = ['--', '--end-of-options', '--file'];
            const end = template.findIndex((fixed) => ends.includes(fixed));
            const isPath = mark === MARKS.path && end >= 0 && end < index;
            expect(isPath || SHAPES.some((shape) => shape.test(arg))).toBe(true);
          }
        }),
        { numRuns: takes.length === 0 ? 1 : 200 },
      );
    },
  );

  // In the other commands parameters are only parts of longer arguments, such as a refspec. `commit-tree` and `blame`
  // take no end of options; their parameter there is an id. That of `commit` is the value of `--file`.
  const WITH_POSITIONAL = TEMPLATES.map(([name, takes]) => {
    const args = build(
      name,
      takes.map((kind) => MARKS[kind]),
    );
    const first = args.findIndex((arg) => Object.values(MARKS).some((mark) => arg.startsWith(mark)));
    return [name, args.slice(0, first), first] as const;
  }).filter(([name, , first]) => first >= 0 && !['commitTree', 'blame', 'userCommit'].includes(name));

  it.each(WITH_POSITIONAL)('%s has its parameters behind the end of the options', (_, before) => {
    expect(before).toEqual(expect.arrayContaining([expect.stringMatching(/^(--end-of-options|--)$/)]));
  });
});
