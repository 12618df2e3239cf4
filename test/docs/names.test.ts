import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { PROJECT } from '../support/project.ts';

/** Runs git in the project; resolves to the lines of its output. */
async function git(...args: string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)('git', args, { cwd: PROJECT, maxBuffer: 2 ** 26 });
  return stdout.split('\n').filter((line) => line !== '');
}

it.each(['AGENTS.md', 'docs/architecture.md', 'docs/traps.md'])(
  'every file and every name of code in %s exists',
  async (document) => {
    const text = await readFile(join(PROJECT, document), 'utf8');
    const names = [...new Set([...text.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name))];
    const files = await git('ls-files', '--', 'src', 'test', 'scripts', '*.config.*');
    // Not comments, which can be as outdated as the documents.
    const code = await git('grep', '-hE', '^ *[^ */]', '--', 'src', 'test', 'scripts', ':!test/docs');
    const words = new Set(code.flatMap((line) => line.match(/\w+/g) ?? []));
    const members = new Set(code.flatMap((line) => line.match(/\w+(?=[(<:?])/g) ?? []));
    const exists = (name: string): boolean => {
      if (/^[\w./-]+\.m?ts$/.test(name)) return files.some((file) => `/${file}`.endsWith(`/${name}`));
      const [, owner = '', member] = /^([A-Z]\w*[a-z])\.(\w+)$/.exec(name) ?? [];
      if (member !== undefined) return words.has(owner) && members.has(member);
      if (/^([a-z]+[A-Z]\w*|[A-Z]+_[A-Z_]+)$/.test(name)) return words.has(name);
      return true;
    };
    expect(names.length).toBeGreaterThan(30);
    expect(names.filter((name) => !exists(name))).toEqual([]);
  },
);
