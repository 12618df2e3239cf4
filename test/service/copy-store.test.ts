import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { copyStore } from '../../src/service/copy-store.ts';
import { openAt } from '../store/open-sqlite.ts';
import { temporaryFolder } from '../support/folder.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';

/** A data folder with an empty store. */
async function folderWithStore(): Promise<string> {
  const folder = await temporaryFolder();
  const store = await openAt(join(folder, 'store.sqlite'));
  await store.close();
  return folder;
}

function copyWith(env: Record<string, string>, to: string) {
  const result = parseConfig(env, []);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return copyStore(result.config, to, () => undefined);
}

describe('copyStore', () => {
  it('refuses the folder of a running manager, and reports its address; after a stop, the copy continues the ids', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const from = manager.dataFolder;
    const to = join(await temporaryFolder(), 'copy');
    await expect(copyWith({ DATA_DIR: from }, to)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(
        new RegExp(
          `^nothing was copied: ${from} is in use .* at ${manager.service.address}\\); stop all managers`,
        ),
      ),
    });
    await expect(readdir(to)).rejects.toThrow('ENOENT');

    await manager.post('/api/v2/apps/web/restart');
    const before = (await manager.get('/api/v2/apps/web')).body;
    await manager.stop();
    await copyWith({ DATA_DIR: from }, to);
    const second = await startManager({ repository: manager.repository, dataFolder: to });
    expect((await second.get('/api/v2/apps/web')).body).toEqual(before);
  });

  it('refuses the folder of a running manager as the target', async () => {
    const running = await startManager({ files: SMALL_FLEET });
    const refused = copyWith({ DATA_DIR: await folderWithStore() }, running.dataFolder);
    await expect(refused).rejects.toThrow(`${running.dataFolder} is in use`);
  });

  it('names the target if it is not a folder', async () => {
    const target = join(await temporaryFolder(), 'file');
    await writeFile(target, '');
    const refused = copyWith({ DATA_DIR: await folderWithStore() }, target);
    await expect(refused).rejects.toThrow(`nothing was copied: manager.lock in ${target} cannot be used`);
  });

  it('refuses DATA_DIR as the target', async () => {
    const folder = await folderWithStore();
    await expect(copyWith({ DATA_DIR: folder }, `${folder}/`)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('it is DATA_DIR'),
    });
  });

  it.each([
    ['is empty', '', 'there is no store in DATA_DIR: its file is empty'],
    ['is not a database', 'text\n'.repeat(200), "the store's file is not a database"],
  ])('names the file of a source that %s, and copies nothing', async (_name, text, message) => {
    const folder = await temporaryFolder();
    const file = join(folder, 'store.sqlite');
    await writeFile(file, text);
    const target = join(await temporaryFolder(), 'copy');
    await expect(copyWith({ DATA_DIR: folder }, target)).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(new RegExp(`^${message}.* \\(${file}\\)$`)),
    });
    expect((await readdir(target)).filter((name) => name.startsWith('store.'))).toEqual([]);
    expect(await readFile(file, 'utf8')).toBe(text);
  });

  it('reports an unreachable target and a damaged source', async () => {
    const folder = await folderWithStore();
    const from = { DATA_DIR: folder };
    const unreachable = copyWith(from, 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200');
    await expect(unreachable).rejects.toThrow('no server of --to accepts writes');
    const file = join(folder, 'store.sqlite');
    const bytes = await readFile(file);
    await writeFile(file, bytes.fill(0xff, 8192));
    const damaged = copyWith(from, join(await temporaryFolder(), 'copy'));
    await expect(damaged).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/^the store is damaged/),
    });
  });

  it.each([
    ['--to', 'a bad escape', {}, 'mongodb://ann:hun%zzter2@one/'],
    ['--to', 'a missing host', {}, 'mongodb://ann:hunter2@:one'],
    ['MONGODB_URI', 'an invalid option', { MONGODB_URI: 'mongodb://ann:hunter2@one/?tls=hunter2' }, 'folder'],
  ])(
    'reports that %s cannot be read because of %s, without the password',
    async (setting, _name, env, to) => {
      const error = await copyWith({ DATA_DIR: await folderWithStore(), ...env }, to).catch(
        (reason) => reason,
      );
      expect(error).toMatchObject({
        kind: 'invalid',
        message: expect.stringContaining(`${setting} cannot be read`),
      });
      expect(String(error.stack) + JSON.stringify(error)).not.toMatch(/hun.*ter2/);
    },
  );
});
