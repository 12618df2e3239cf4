import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { tryCreate, writeNew } from '../../src/cli/check/new-files.ts';
import { temporaryFolder } from '../support/folder.ts';
import { PROJECT } from '../support/project.ts';

const MODULE = join(PROJECT, 'src/cli/check/new-files.ts');

/** Writes a file in a process that may write only 8 KiB to each file. */
async function writeWithLimit(path: string, bytes: number): Promise<string> {
  const script = `import { writeNew } from ${JSON.stringify(MODULE)};
    await writeNew(process.argv[1], 'x'.repeat(${bytes})).then(() => console.log('written'), ({ code }) => console.log(code));`;
  const command = 'ulimit -f 8; exec "$0" --import tsx --input-type=module --eval "$1" "$2"';
  const { stdout } = await promisify(execFile)('bash', ['-c', command, process.execPath, script, path], {
    cwd: PROJECT,
    env: { ...process.env, TSX_DISABLE_CACHE: '1' },
  });
  return stdout.trim();
}

describe('a new file', () => {
  it('that the disk has no room for is not left half-written', async () => {
    const folder = await temporaryFolder();
    expect(await writeWithLimit(join(folder, 'apps/small.yaml'), 100)).toBe('written');
    expect(await writeWithLimit(join(folder, 'apps/large.yaml'), 100_000)).toBe('EFBIG');
    expect(await readdir(join(folder, 'apps'))).toEqual(['small.yaml']);
  });

  it('never replaces a file, which stays as it is', async () => {
    const path = join(await temporaryFolder(), 'web.yaml');
    expect(await tryCreate(writeNew(path, 'one'))).toBe(true);
    expect(await tryCreate(writeNew(path, 'two'))).toBe(false);
    expect(await readFile(path, 'utf8')).toBe('one');
  });
});
