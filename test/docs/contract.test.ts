import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { PROJECT } from '../support/project.ts';

/** Sections as comments (`contract, 2.1`; `decisions, "Ids"`) and names of tests (`decisions.md: Ids: ...`) cite them. */
const CITATIONS = [
  /\b(contract), (?:section )?(\d[.\d]*|"[^"]+")/gi,
  /\b(decisions), ("[^"]+")/gi,
  /\b(api-v2)\.md: (\d(?:\.\d)?)/g,
  /\b(decisions)\.md: ([^:'`]+)/g,
];

it('every section of the contract that is cited is in the table of docs/architecture.md, and no other', async () => {
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
      const what = `${part.toLowerCase().replace('api-v2', 'contract')}, ${section.replaceAll('"', '')}`;
      // The name of a test can go on: `decisions.md: Apps, update`.
      return rows.find((row) => `${what},`.startsWith(`${row.replaceAll('"', '')},`)) ?? what;
    }),
  );
  expect([...new Set(cited)].sort()).toEqual([...rows].sort());
});
