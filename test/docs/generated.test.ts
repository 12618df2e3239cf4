import { execFile } from 'node:child_process';
import { access, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { renderedTables } from '../../scripts/tables.ts';
import { SCHEMA_FILES } from '../../src/desired/json-schema.ts';
import { PROJECT } from '../support/project.ts';

const execute = promisify(execFile);

describe('the output of `npm run docs` is up to date', async () => {
  const tables = (await renderedTables()).map(({ mark, file, table }) => [mark, file, table] as const);
  it.each(tables)('in the table of %s in %s', async (_, file, table) => {
    expect(await readFile(join(PROJECT, file), 'utf8')).toContain(table);
  });

  it.each(Object.entries(SCHEMA_FILES))('in schemas/%s', async (file, text) => {
    expect(await readFile(join(PROJECT, 'schemas', file), 'utf8')).toBe(text);
  });
});

describe('links', async () => {
  const { stdout } = await execute('git', ['ls-files', '--', '*.md'], { cwd: PROJECT });
  const files = stdout.split('\n').filter(Boolean);
  it.each(files)('in %s lead to files that exist', async (file) => {
    const text = await readFile(join(PROJECT, file), 'utf8');
    const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, target = '']) => target);
    for (const link of links)
      await expect(access(join(PROJECT, file, '..', link)), link).resolves.toBeUndefined();
  });

  it('in comments of examples name headings that exist', async () => {
    const names = await readdir(join(PROJECT, 'examples'));
    const texts = await Promise.all(names.map((name) => readFile(join(PROJECT, 'examples', name), 'utf8')));
    const references = texts.flatMap((text) => [...text.matchAll(/(docs\/[\w-]+\.md), "([^"]+)"/g)]);
    expect(references).not.toEqual([]);
    for (const [, file = '', heading] of references) {
      expect((await readFile(join(PROJECT, file), 'utf8')).split('\n'), file).toContain(`## ${heading}`);
    }
  });

  it.each(files)('in %s lead to headings that exist', async (file) => {
    const text = await readFile(join(PROJECT, file), 'utf8');
    for (const [, target = '', heading] of text.matchAll(/\]\(([^)#:\s]*)#([^)]+)\)/g)) {
      const linked = target === '' ? text : await readFile(join(PROJECT, file, '..', target), 'utf8');
      const headings = [...linked.matchAll(/^#+ (.*)$/gm)].map(([, line = '']) => anchorOf(line));
      expect(headings, target).toContain(heading);
    }
  });
});

/** The anchor that GitHub and GitLab give to a heading. */
function anchorOf(heading: string): string {
  const words = heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '');
  return words.replaceAll(' ', '-');
}

it('no file of the project has conflict markers', async () => {
  const { stdout } = await execute('git', ['grep', '-lE', '^(<<<<<<<|>>>>>>>) ', '--', '.', ':!test'], {
    cwd: PROJECT,
  }).catch((error: { code?: number; stdout: string }) => {
    // `git grep` exits with 1 if it finds nothing.
    if (error.code !== 1) throw error;
    return error;
  });
  expect(stdout).toBe('');
});
