import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { PROJECT } from '../support/project.ts';

const execute = promisify(execFile);

/** Resolves to the paths of the files that `npm pack` puts into the package. */
async function packedFiles(): Promise<string[]> {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await execute('npm', args, { cwd: PROJECT, maxBuffer: 2 ** 24 });
  const [{ files }]: [{ files: { path: string }[] }] = JSON.parse(stdout);
  return files.map(({ path }) => path);
}

/** What only contributors need, and documents of the package may still name. */
const FOR_CONTRIBUTORS = /^(AGENTS\.md$|CONTRIBUTING\.md$|docs\/decisions\/|test\/)/;

describe('the package that `npm pack` builds', async () => {
  const files = await packedFiles();

  it('has the program, the documents for users, the examples and the licence, and nothing else of the project', async () => {
    const kept = [
      'docs',
      'examples',
      'schemas',
      'desired-state',
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'SECURITY.md',
    ];
    const { stdout } = await execute('git', ['ls-files', '--', ...kept, 'package.json'], { cwd: PROJECT });
    const others = files.filter((file) => !file.startsWith('dist/'));
    const expected = stdout.split('\n').filter((file) => file !== '' && !FOR_CONTRIBUTORS.test(file));
    expect(others.sort()).toEqual(expected.sort());
  });

  it('has the command', async () => {
    const { bin } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8'));
    expect(files).toContain(bin.holdfast);
    expect(await readFile(join(PROJECT, bin.holdfast), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n/);
  });

  it('has every file that its documents link to, apart from what only contributors need', async () => {
    const exists = (path: string): boolean => files.some((file) => `${file}/`.startsWith(`${path}/`));
    for (const file of files.filter((name) => name.endsWith('.md'))) {
      const text = await readFile(join(PROJECT, file), 'utf8');
      for (const [, link = ''] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)) {
        const target = posix.join(posix.dirname(file), link).replace(/\/$/, '');
        if (!FOR_CONTRIBUTORS.test(target)) expect(exists(target), `${file}: ${link}`).toBe(true);
      }
    }
  });
});
