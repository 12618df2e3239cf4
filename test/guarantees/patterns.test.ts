import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Pattern, patternsIn } from './patterns.ts';

/** The entry for browsers is JavaScript alone, and so judges alike on every machine. */
const { checkSync } = createRequire(import.meta.url)('recheck/lib/browser.js') as typeof import('recheck');

const SRC = resolve('src');

/** Files whose patterns may take time that grows with the square of a text, and what limits the text. */
const CUT: Readonly<Record<string, string>> = {
  'source/git/clone/refusals.ts': 'GitFailure cuts what git says: lines of 1,000 characters, 64 KiB in all',
  'source/git/origin/errors.ts': 'GitFailure cuts what git says',
  'source/git/origin/origin.ts': 'GitFailure cuts what git says',
  'source/git/process/disk-trouble.ts': 'GitFailure cuts what git says',
  'source/git/write/publisher.ts': 'GitFailure cuts what git says',
};

/** What functions make patterns of, with one that they make. */
const MADE: Readonly<Record<string, string>> = {
  'http/protocol/methods.ts': '^/api/v2/apps/[^/]*/rollback$',
  'protocol/mount.ts': '^[A-Za-z0-9][A-Za-z0-9_.-]*$',
  'source/git/clone/record.ts': '^ *parent process *: 123$',
  'source/git/record/read.ts': '^Fleet: ([0-9a-f]{32})$',
};

/** What `recheck` may spend on one pattern, in steps instead of seconds, so that the verdict is the same everywhere. */
const EFFORT = {
  timeout: null,
  attackTimeout: null,
  incubationTimeout: null,
  randomSeed: 1,
  maxNFASize: 1000,
  maxIteration: 3,
  maxInitialGenerationSize: 60,
  maxGenerationSize: 10,
  crossoverSize: 5,
  mutationSize: 5,
  maxGeneStringSize: 600,
  incubationLimit: 5000,
  attackLimit: 1_000_000,
};

/** Whether matching takes time in proportion to the text, and is not worse. Without an unlimited repetition it always does. */
function isSafe({ source, flags }: Pick<Pattern, 'source' | 'flags'>): boolean {
  return !/[*+]|\{\d+,\}/.test(source) || checkSync(source, flags, EFFORT).status === 'safe';
}

/** Returns the patterns that files make of others when they are loaded, in a process whose `RegExp` notes them. */
function madeOnLoading(files: readonly string[]): Pattern[] {
  const urls = files.map((file) => pathToFileURL(resolve(SRC, file)).href);
  const script = `
    const [made, Original] = [[], RegExp];
    globalThis.RegExp = new Proxy(Original, {
      construct: (_, args) => {
        const pattern = new Original(...args);
        made.push({ file: 'made on loading', source: pattern.source, flags: pattern.flags });
        return pattern;
      },
    });
    for (const url of ${JSON.stringify(urls)}) await import(url);
    console.log(JSON.stringify(made));`;
  const args = ['--import', 'tsx', '--input-type=module', '--eval', script];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' }));
}

describe('a pattern', () => {
  const { written, made } = patternsIn(SRC);

  it('takes time in proportion to any text, however it is written', () => {
    const constants = madeOnLoading([
      ...new Set(made.filter(({ isConstant }) => isConstant).map(({ file }) => file)),
    ]);
    expect(constants.length).toBeGreaterThanOrEqual(made.filter(({ isConstant }) => isConstant).length);
    const inFunctions = Object.entries(MADE).map(([file, source]) => ({ file, source, flags: '' }));
    const judged = [...written, ...constants, ...inFunctions].filter(({ file }) => !(file in CUT));
    const different = new Map(judged.map((pattern) => [`${pattern.flags}/${pattern.source}`, pattern]));
    expect([...different.values()].filter((pattern) => !isSafe(pattern))).toEqual([]);
  });

  it('that a function makes is in the table, and the tables name no other file', () => {
    const files = made.filter(({ isConstant }) => !isConstant).map(({ file }) => file);
    expect(Object.keys(MADE)).toEqual([...new Set(files)]);
    expect(Object.keys(CUT).filter((file) => !written.some((pattern) => pattern.file === file))).toEqual([]);
  });

  it.each(['^(a+)+$', '\\s+$', 'name .* in use'])('such as /%s/ would be found', (source) => {
    expect(isSafe({ source, flags: '' })).toBe(false);
  });
});
