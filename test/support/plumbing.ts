import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { type TestRepository, USER_ENVIRONMENT } from './git.ts';

/** One entry of a tree, with the bytes that git stores. Nothing is checked. */
export interface RawEntry {
  mode: string;
  name: string | Buffer;
  id: string;
}

/** Writes git objects that git's own commands would refuse to make. All functions are synchronous. */
export interface Plumbing {
  /** Writes a blob; returns its id. */
  blob(content: string | Buffer): string;
  /** Writes a tree with these entries in the given order; returns its id. */
  tree(entries: readonly RawEntry[]): string;
  /** The entries of an existing tree, such as `main:desired-state`. */
  entriesOf(expression: string): RawEntry[];
  /** Moves `main` to a new commit with this tree and returns the commit; index and work tree stay as they are. */
  publish(tree: string, message?: string): string;
}

/** The plumbing of a repository with SHA-1 ids. */
export function plumbingOf({ folder }: TestRepository): Plumbing {
  const run = (args: string[]): Buffer =>
    execFileSync('git', args, {
      cwd: folder,
      maxBuffer: 2 ** 28,
      env: USER_ENVIRONMENT,
    });
  const text = (args: string[]): string => run(args).toString().trim();
  const objects = text(['rev-parse', '--path-format=absolute', '--git-path', 'objects']);
  return {
    blob: (content) => writeObject(objects, 'blob', Buffer.from(content)),
    tree: (entries) => {
      const bytes = entries.flatMap(({ mode, name, id }) => [
        Buffer.from(`${mode} `),
        Buffer.from(name),
        Buffer.from([0]),
        Buffer.from(id, 'hex'),
      ]);
      return writeObject(objects, 'tree', Buffer.concat(bytes));
    },
    entriesOf: (expression) =>
      text(['ls-tree', '-z', expression])
        .split('\0')
        .filter(Boolean)
        .map((line) => {
          const [facts = '', name = ''] = line.split('\t');
          const [mode = '', , id = ''] = facts.split(' ');
          return { mode: mode.replace(/^0/, ''), name, id };
        }),
    publish: (tree, message = 'crafted') => {
      const commit = text(['commit-tree', tree, '-p', 'main', '-m', message]);
      run(['update-ref', 'refs/heads/main', commit]);
      return commit;
    },
  };
}

/** Writes a loose object without starting git, since some tests make thousands. Returns its id. */
function writeObject(objects: string, type: 'blob' | 'tree', content: Buffer): string {
  const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
  const id = createHash('sha1').update(bytes).digest('hex');
  const path = join(objects, id.slice(0, 2), id.slice(2));
  if (existsSync(path)) return id;
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, deflateSync(bytes));
  return id;
}
