import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { PROJECT } from '../support/project.ts';

/** How comments (`contract, 2.1`; `decisions, "Ids"`) and titles of tests (`decisions.md: Ids: ...`) cite a section. */
const CITATIONS = [
  /\b(contract), (?:section )?(\d[.\d]*|"[^"]+")/gi,
  /\b(decisions), ("[^"]+")/gi,
  /\b(api-v2)\.md: (\d(?:\.\d)?)/g,
  /\b(decisions)\.md: ([^:'`]+)/g,
];

it('the table of docs/architecture.md has exactly the sections of the contract that code and tests cite', async () => {
  const text = await readFile(join(PROJECT, 'docs/architecture.md'), 'utf8');
  const rows = [...text.matchAll(/^\| ((?:contract|decisions), [^|]+) \|/gm)].map(([, row = '']) => row);
  expect(rows.length).toBeGreaterThan(10);
  const { stdout } = await promisify(execFile)(
    'git',
    ['grep', '-hiE', '(contract|decisions), |(api-v2|decisions)[.]md: ', '--', 'src', 'test', ':!test/docs'],
    { cwd: PROJECT, maxBuffer: 2 ** 24 },
  );
  const cited = CITATIONS.flatMap((form) =>
    [...stdout.matchAll(form)].map(([, part = '', section = '']) => {
      const citation = `${part.toLowerCase().replace('api-v2', 'contract')}, ${section.replaceAll('"', '')}`;
      // A title can go on after the section: `decisions.md: Apps, update`.
      return rows.find((row) => `${citation},`.startsWith(`${row.replaceAll('"', '')},`)) ?? citation;
    }),
  );
  expect([...new Set(cited)].sort()).toEqual([...rows].sort());
});
