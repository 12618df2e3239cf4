import { createFsFromVolume, Volume } from 'memfs';
import { describe, expect, it } from 'vitest';
import { createFolderReader, type FileSystem } from '../../src/source/folder.ts';

/** A reader of a folder in memory with these files (null makes a folder) and symlinks. */
function folderOf(files: Readonly<Record<string, string | null>>, links: Record<string, string> = {}) {
  const volume = Volume.fromJSON(files, '/fleet');
  for (const [path, target] of Object.entries(links)) volume.symlinkSync(target, `/fleet/${path}`);
  return createFolderReader(createFsFromVolume(volume).promises as unknown as FileSystem, '/fleet');
}

const paths = async (reader: ReturnType<typeof folderOf>): Promise<string[]> =>
  (await reader.list()).map(({ path }) => path);

describe('list', () => {
  it('returns every file below the folder, sorted by its path in the folder', async () => {
    const reader = folderOf({ 'apps/web.yaml': 'a', 'apps/team/deep/x.yaml': 'b', 'README.md': 'c' });
    expect(await paths(reader)).toEqual(['README.md', 'apps/team/deep/x.yaml', 'apps/web.yaml']);
  });

  it('is empty for a folder without files', async () => {
    expect(await folderOf({ apps: null }).list()).toEqual([]);
  });

  it('returns symlinks as such, and does not follow them', async () => {
    const reader = folderOf({ 'apps/web.yaml': 'a' }, { 'apps/twin.yaml': 'web.yaml', loop: '.' });
    const entries = await reader.list();
    expect(Object.fromEntries(entries.map(({ path, type }) => [path, type]))).toEqual({
      'apps/web.yaml': 'file',
      'apps/twin.yaml': 'symlink',
      loop: 'symlink',
    });
  });

  it('leaves out the .git folder', async () => {
    expect(await paths(folderOf({ '.git/config': 'x', 'apps/web.yaml': 'a' }))).toEqual(['apps/web.yaml']);
  });

  it('rejects if the folder is missing', async () => {
    const reader = createFolderReader(
      createFsFromVolume(new Volume()).promises as unknown as FileSystem,
      '/no',
    );
    await expect(reader.list()).rejects.toMatchObject({ code: 'ENOENT' });
  });
});

describe('blob', () => {
  const reader = folderOf({ 'apps/web.yaml': 'container_image: a\n' });

  it('returns the bytes of a listed file', async () => {
    const [entry] = await reader.list();
    const found = await reader.blob(entry?.blob ?? '', 100);
    expect(found).toEqual({ bytes: expect.anything() });
    expect('bytes' in found && Buffer.from(found.bytes).toString()).toBe('container_image: a\n');
  });

  it('returns only the size of a file that is larger than allowed', async () => {
    const [entry] = await reader.list();
    expect(await reader.blob(entry?.blob ?? '', 18)).toEqual({ tooLarge: 19 });
    expect(await reader.blob(entry?.blob ?? '', 19)).toHaveProperty('bytes');
  });

  it('reports a file that was deleted in the meantime as missing', async () => {
    expect(await reader.blob('apps/gone.yaml', 100)).toEqual({ missing: true });
  });
});
