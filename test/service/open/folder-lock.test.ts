import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type FolderLock, lockFolder } from '../../../src/service/open/folder-lock.ts';
import { temporaryFolder } from '../../support/folder.ts';

const NOW = Date.UTC(2030, 0, 2, 3, 4, 5);

async function lock(folder: string, pid = 42): Promise<FolderLock> {
  const folderLock = await lockFolder(folder, pid, NOW);
  onTestFinished(async () => folderLock.release());
  return folderLock;
}

describe('lockFolder', () => {
  it('refuses a second manager, and reports the first: its process, since when it runs, and where it listens', async () => {
    const folder = await temporaryFolder();
    const first = await lock(folder);
    await expect(lock(folder)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('(process 42, since 2030-01-02T03:04:05.000Z);'),
    });
    await first.recordAddress('http://127.0.0.1:8080');
    await expect(lock(folder)).rejects.toThrow('since 2030-01-02T03:04:05.000Z, at http://127.0.0.1:8080)');
  });

  it.each([
    ['damaged JSON', '{"pid": "x"'],
    ['JSON of another shape', '[]'],
  ])('refuses a second manager even if the file about the first is %s', async (_name, text) => {
    const folder = await temporaryFolder();
    await lock(folder);
    await writeFile(join(folder, 'manager.json'), text);
    await expect(lock(folder)).rejects.toThrow('in use by another manager;');
  });

  it('succeeds again after a release, and reports the new owner from then on', async () => {
    const folder = await temporaryFolder();
    (await lock(folder)).release();
    await lock(folder, 43);
    await expect(lock(folder)).rejects.toThrow('process 43');
  });

  it('creates files that only their owner can access', async () => {
    const folder = await temporaryFolder();
    await lock(folder);
    for (const name of await readdir(folder)) {
      expect((await stat(join(folder, name))).mode & 0o077, name).toBe(0);
    }
  });

  it('reports why a lock file cannot be used, and leaves it unchanged', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'manager.lock'));
    await expect(lock(folder)).rejects.toMatchObject({
      kind: 'unavailable',
      message:
        'manager.lock in DATA_DIR cannot be used: it cannot be opened; check the owner and permissions of its files',
    });
    const other = await temporaryFolder();
    await writeFile(
      join(other, 'manager.lock'),
      'no database at all, and long enough to be seen as none '.repeat(20),
    );
    await expect(lock(other)).rejects.toThrow(
      /^manager\.lock in DATA_DIR cannot be used: it is not a database; delete it$/,
    );
    expect(await readFile(join(other, 'manager.lock'), 'utf8')).toContain('no database');
  });
});
