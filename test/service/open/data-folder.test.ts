import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { openDataFolder } from '../../../src/service/open/data-folder.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { testRepository } from '../../support/git.ts';
import { SMALL_FLEET, startManager } from '../../support/manager.ts';

async function openWithLog(path: string) {
  const log: Record<string, unknown>[] = [];
  const logger = pino({ level: 'trace' }, { write: (line) => void log.push(JSON.parse(line)) });
  return { folder: await openDataFolder(path, logger), log };
}

async function modeOf(path: string): Promise<number> {
  return (await stat(path)).mode & 0o7777;
}

/** An existing folder with this mode. */
async function folderWithMode(mode: number, name = 'shared'): Promise<string> {
  const folder = join(await temporaryFolder(), name);
  await mkdir(folder);
  await chmod(folder, mode);
  return folder;
}

describe('openDataFolder', () => {
  it('creates a missing folder and its parents for their owner alone, and hides the folder from git', async () => {
    const top = await temporaryFolder();
    const { folder, log } = await openWithLog(join(top, 'a/b'));
    expect([await modeOf(folder), await modeOf(join(top, 'a')), log]).toEqual([0o700, 0o700, []]);
    expect(await readFile(join(folder, '.gitignore'), 'utf8')).toBe('*\n');
  });

  it('gives a new folder its mode whatever the umask is', async () => {
    const top = await temporaryFolder();
    const umask = process.umask(0o277);
    try {
      expect(await modeOf((await openWithLog(join(top, 'data'))).folder)).toBe(0o700);
    } finally {
      process.umask(umask);
    }
  });

  it.each([
    ['that everyone can write to', 0o1777],
    ['that everyone can read', 0o755],
    ['that its group can enter', 0o710],
  ])('does not change a folder %s, and logs the command that closes it', async (_name, mode) => {
    const shared = await folderWithMode(mode);
    await writeFile(join(shared, 'of-another'), 'x', { mode: 0o644 });
    const { log } = await openWithLog(shared);
    expect([await modeOf(shared), await modeOf(join(shared, 'of-another'))]).toEqual([mode, 0o644]);
    expect(await readdir(shared)).toEqual(['of-another']);
    expect(log).toMatchObject([
      { level: 40, data: shared, msg: expect.stringContaining(`chmod 700 ${shared}`) },
    ]);
  });

  it('logs nothing for a closed folder', async () => {
    expect((await openWithLog(await folderWithMode(0o700))).log).toEqual([]);
  });

  it('quotes a path with special characters in the logged command', async () => {
    const shared = await folderWithMode(0o755, "it's mine");
    const quoted = `chmod 700 '${shared.replace("'", "'\\''")}'`;
    expect((await openWithLog(shared)).log).toMatchObject([{ msg: expect.stringContaining(quoted) }]);
  });

  it("closes the manager's own files in an open folder to others, and follows no link", async () => {
    const shared = await folderWithMode(0o755);
    for (const name of ['admin.json', 'store.sqlite']) {
      await writeFile(join(shared, name), '');
      await chmod(join(shared, name), 0o644);
    }
    const target = join(await temporaryFolder(), 'target');
    await writeFile(target, '');
    await chmod(target, 0o644);
    await symlink(target, join(shared, 'manager.json'));
    await openWithLog(shared);
    expect(await modeOf(join(shared, 'admin.json'))).toBe(0o600);
    expect(await modeOf(join(shared, 'store.sqlite'))).toBe(0o600);
    expect(await modeOf(target)).toBe(0o644);
  });

  it.each([
    ['that is a file', 'file', 'is a file'],
    ['that is below a file', 'file/data', 'is below one'],
    ['below which no folder can be created', '/proc/holdfast/data', 'cannot be created there'],
    ['with a name that is too long', 'x'.repeat(300), 'ENAMETOOLONG'],
  ])('refuses a path %s, and reports the reason', async (_name, path, reason) => {
    const top = await temporaryFolder();
    await writeFile(join(top, 'file'), '');
    const folder = path.startsWith('/') ? path : join(top, path);
    await expect(openWithLog(folder)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(new RegExp(`^DATA_DIR cannot be used: ${folder} .*${reason}`)),
    });
  });
});

it('a manager closes every file in its data folder to others, even if they can enter the folder', async () => {
  const repository = await testRepository();
  const dataFolder = await folderWithMode(0o755);
  const umask = process.umask(0);
  try {
    const settings = { GIT_REMOTE: repository.folder, DESIRED_STATE: 'desired-state' };
    await startManager({ files: SMALL_FLEET, repository, dataFolder, settings });
    const entries = await readdir(dataFolder);
    expect(entries).toEqual(
      expect.arrayContaining(['manager.lock', 'mirror.git', 'store.sqlite', 'transfer.gitconfig']),
    );
    for (const name of entries) expect((await modeOf(join(dataFolder, name))) & 0o077, name).toBe(0);
  } finally {
    process.umask(umask);
  }
});
