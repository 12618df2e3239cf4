import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/config.ts';
import { copyStore } from '../../src/service/copy-store.ts';
import { temporaryFolder } from '../support/folder.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';

function copying(env: Record<string, string>, to: string) {
  const result = parseConfig(env, []);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return copyStore(result.config, to, () => undefined);
}

describe('copyStore', () => {
  it('refuses the folder of a manager that runs, and names it; once it has stopped, ids go on in the copy', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const from = manager.dataFolder;
    const to = join(await temporaryFolder(), 'copy');
    await expect(copying({ DATA_DIR: from }, to)).rejects.toMatchObject({
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
    await copying({ DATA_DIR: from }, to);
    const second = await startManager({ repository: manager.repository, dataFolder: to });
    expect((await second.get('/api/v2/apps/web')).body).toEqual(before);
  });

  it('refuses a target that a manager has', async () => {
    const stopped = await startManager({ files: SMALL_FLEET });
    await stopped.stop();
    const running = await startManager({ files: SMALL_FLEET });
    const refused = copying({ DATA_DIR: stopped.dataFolder }, running.dataFolder);
    await expect(refused).rejects.toThrow(`${running.dataFolder} is in use`);
  });

  it('refuses its own folder, and lets go of it', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.stop();
    const itself = copying({ DATA_DIR: manager.dataFolder }, `${manager.dataFolder}/`);
    await expect(itself).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining('it is DATA_DIR'),
    });
    await manager.restart();
  });

  it('says of a source that is damaged, and of a target that is away, what is the matter', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.stop();
    const from = { DATA_DIR: manager.dataFolder };
    const away = copying(from, 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=200');
    await expect(away).rejects.toThrow('no server of --to accepts writes');
    const file = join(manager.dataFolder, 'store.sqlite');
    const bytes = await readFile(file);
    await writeFile(file, bytes.fill(0xff, 8192));
    const damaged = copying(from, join(await temporaryFolder(), 'copy'));
    await expect(damaged).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/^the store is damaged/),
    });
  });

  it.each([
    ['--to', 'there is a store', {}, 'mongodb://ann:hun%zzter2@one/'],
    ['--to', 'two ports', {}, 'mongodb://ann:hunter2@:one'],
    ['MONGODB_URI', 'no such option', { MONGODB_URI: 'mongodb://ann:hunter2@one/?tls=hunter2' }, 'folder'],
  ])('says of %s that it cannot be read (%s), without the password', async (place, _name, env, to) => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.stop();
    const error = await copying({ DATA_DIR: manager.dataFolder, ...env }, to).catch((reason) => reason);
    expect(error).toMatchObject({
      kind: 'invalid',
      message: expect.stringContaining(`${place} cannot be read`),
    });
    expect(String(error.stack) + JSON.stringify(error)).not.toMatch(/hun.*ter2/);
  });
});
