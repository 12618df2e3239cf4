import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { renderedTables } from '../../scripts/tables.ts';
import { SCHEMA_FILES } from '../../src/desired/json-schema.ts';
import { PROJECT } from '../support/project.ts';

const execute = promisify(execFile);

describe('what `npm run docs` writes is up to date', async () => {
  it.each(await renderedTables())('the table of $mark in $file', async ({ file, table }) => {
    expect(await readFile(join(PROJECT, file), 'utf8')).toContain(table);
  });

  it.each(Object.entries(SCHEMA_FILES))('schemas/%s', async (file, text) => {
    expect(await readFile(join(PROJECT, 'schemas', file), 'utf8')).toBe(text);
  });
});

describe('links', async () => {
  const { stdout } = await execute('git', ['ls-files', '--', '*.md'], { cwd: PROJECT });
  const files = stdout.split('\n').filter(Boolean);
  it.each(files)('%s leads to files that are there', async (file) => {
    const text = await readFile(join(PROJECT, file), 'utf8');
    const links = [...text.matchAll(/\]\(([^)#:]+)\)/g)].map(([, target = '']) => target);
    for (const link of links) {
      await expect(readable(join(PROJECT, file, '..', link)), link).resolves.toBe(true);
    }
  });

  it('comments of examples lead to headings that are there', async () => {
    const names = await readdir(join(PROJECT, 'examples'));
    const texts = await Promise.all(names.map((name) => readFile(join(PROJECT, 'examples', name), 'utf8')));
    const told = texts.flatMap((text) => [...text.matchAll(/(docs\/[\w-]+\.md), "([^"]+)"/g)]);
    expect(told).not.toEqual([]);
    for (const [, file = '', heading] of told) {
      expect((await readFile(join(PROJECT, file), 'utf8')).split('\n'), file).toContain(`## ${heading}`);
    }
  });

  it.each(files)('%s leads to headings that are there', async (file) => {
    const text = await readFile(join(PROJECT, file), 'utf8');
    for (const [, target = '', heading] of text.matchAll(/\]\(([^)#:\s]*)#([^)]+)\)/g)) {
      const there = target === '' ? text : await readFile(join(PROJECT, file, '..', target), 'utf8');
      const headings = [...there.matchAll(/^#+ (.*)$/gm)].map(([, line = '']) => anchorOf(line));
      expect(headings, target).toContain(heading);
    }
  });
});

/** The anchor that forges give to a heading. */
function anchorOf(heading: string): string {
  const words = heading.toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, '');
  return words.replaceAll(' ', '-');
}

it('no file of the project has the marks of an unfinished merge', async () => {
  const { stdout } = await execute('git', ['grep', '-lE', '^(<<<<<<<|>>>>>>>) ', '--', '.', ':!test'], {
    cwd: PROJECT,
  }).catch((error: { code?: number; stdout: string }) => {
    // git grep that finds nothing ends with 1.
    if (error.code !== 1) throw error;
    return error;
  });
  expect(stdout).toBe('');
});

async function readable(path: string): Promise<boolean> {
  const { access } = await import('node:fs/promises');
  return access(path).then(
    () => true,
    () => false,
  );
}
