import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { PROJECT } from '../support/project.ts';

/** A citation: `docs/contract.md, 2.1 and 5.4`. */
const CITATION = /docs\/contract\.md, (\d+(?:\.\d+)?(?:, \d+\.\d+)*(?: and \d+\.\d+)?)/g;

async function citedSections(): Promise<string[]> {
  const args = ['grep', '-hF', 'docs/contract.md', '--', 'src', 'test', ':!test/docs'];
  const { stdout } = await promisify(execFile)('git', args, { cwd: PROJECT, maxBuffer: 2 ** 24 });
  const lines = stdout.split('\n').filter((line) => line !== '');
  return lines.flatMap((line) => {
    const numbers = [...line.matchAll(CITATION)].flatMap(([, list = '']) => list.split(/, | and /));
    // A citation of another form would not be followed by anybody, nor checked here.
    return numbers.length > 0 ? numbers : [line];
  });
}

describe('docs/contract.md', async () => {
  const text = await readFile(join(PROJECT, 'docs/contract.md'), 'utf8');
  const headings = [...text.matchAll(/^##+ (\d+)(?:\.(\d+))?/gm)].map(([, chapter, section]) => ({
    number: section === undefined ? `${chapter}` : `${chapter}.${section}`,
    chapter: Number(chapter),
    section: Number(section ?? 0),
  }));
  const cited = new Set(await citedSections());

  it('has every section that a comment or test cites', () => {
    const numbers = headings.map(({ number }) => number);
    expect(cited.size).toBeGreaterThan(30);
    expect([...cited].filter((number) => !numbers.includes(number))).toEqual([]);
  });

  it('has no rule that neither a comment nor a test cites', () => {
    const chapters = new Set(headings.filter(({ section }) => section > 0).map(({ chapter }) => chapter));
    const rules = headings.filter(({ chapter, section }) => section > 0 || !chapters.has(chapter));
    const uncited = rules.map(({ number }) => number).filter((number) => !cited.has(number));
    expect(uncited).toEqual(['1']);
  });

  it('numbers its sections without a gap', () => {
    let [chapter, section] = [0, 0];
    for (const heading of headings) {
      [chapter, section] = heading.section === 0 ? [chapter + 1, 0] : [chapter, section + 1];
      expect([heading.chapter, heading.section], heading.number).toEqual([chapter, section]);
    }
  });
});
