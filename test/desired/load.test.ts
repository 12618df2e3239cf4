import { describe, expect, it } from 'vitest';
import type { BlobContent, EntryType, TreeEntry } from '../../src/desired/entry.ts';
import { loadFile } from '../../src/desired/load.ts';
import { MAX_FILE_BYTES } from '../../src/desired/yaml/document.ts';
import { appOf, DEFAULTS } from '../support/fleet.ts';

/** Reads blobs by name, and records which were read with which limit. */
function blobs(contents: Readonly<Record<string, BlobContent>>) {
  const reads: [string, number][] = [];
  const read = async (blob: string, maxBytes: number): Promise<BlobContent> => {
    reads.push([blob, maxBytes]);
    return contents[blob] ?? { missing: true };
  };
  return { reads, read };
}

function entry(path: string, type: EntryType = 'file'): TreeEntry {
  return { path, type, blob: 'blob' };
}

function load(at: TreeEntry, blob: BlobContent = { bytes: Buffer.from('container_image: web:1\n') }) {
  return loadFile(at, blobs({ blob }).read, DEFAULTS);
}

describe('loadFile', () => {
  it('reads an app', async () => {
    expect(await load(entry('apps/shop/web.yaml'))).toEqual({
      path: 'apps/shop/web.yaml',
      blob: 'blob',
      kind: 'app',
      name: 'web',
      parsed: { ok: true, content: appOf(), memberPositions: [] },
    });
  });

  it('reads a device group with the positions of its apps', async () => {
    expect(await load(entry('device-groups/edge.yml'), { bytes: Buffer.from('apps: [a]') })).toEqual({
      path: 'device-groups/edge.yml',
      blob: 'blob',
      kind: 'device_group',
      name: 'edge',
      parsed: { ok: true, content: { apps: ['a'] }, memberPositions: [{ line: 1, column: 8 }] },
    });
  });

  it.each(['README.md', '.gitignore', 'apps/.swp/web.yaml'])('ignores %s, of any type', async (path) => {
    const { reads, read } = blobs({});
    for (const type of ['file', 'symlink', 'submodule', 'special'] as const) {
      expect(await loadFile(entry(path, type), read, DEFAULTS)).toBeNull();
    }
    expect(reads).toEqual([]);
  });

  it.each<[EntryType, string, string]>([
    ['symlink', 'file-symlink', 'is a symbolic link, which is never followed; commit the file itself'],
    ['submodule', 'file-submodule', 'is a submodule, which is never read; commit the files themselves'],
    ['special', 'file-unreadable', 'is not a plain file; remove it'],
  ])('never reads a %s', async (type, code, message) => {
    const { reads, read } = blobs({});
    const problem = { line: 1, column: 1, code, message };
    expect(await loadFile(entry('apps/web.yaml', type), read, DEFAULTS)).toMatchObject({
      kind: 'app',
      name: 'web',
      parsed: { ok: false, problems: [problem] },
    });
    expect(await loadFile(entry('apps/team', type), read, DEFAULTS)).toMatchObject({
      kind: null,
      severity: 'error',
      problem,
    });
    expect(reads).toEqual([]);
  });

  it.each<[string, string, 'warning' | 'error']>([
    ['notes.txt', 'file-unexpected', 'warning'],
    ['apps/a b.yaml', 'name-invalid', 'error'],
  ])('does not read %s', async (path, code, severity) => {
    const { reads, read } = blobs({});
    expect(await loadFile(entry(path), read, DEFAULTS)).toMatchObject({
      path,
      kind: null,
      severity,
      problem: { code },
    });
    expect(reads).toEqual([]);
  });

  it.each<[string, BlobContent, string, string]>([
    [
      'a too large blob',
      { tooLarge: 1_000_000 },
      'file-too-large',
      'has 1000000 bytes; at most 65536 are read: split or shorten it',
    ],
    [
      'a missing blob',
      { missing: true },
      'file-unreadable',
      'cannot be read; check its permissions, and the repository (git fsck)',
    ],
    [
      'a blob that is not text',
      { bytes: Buffer.from([0xff]) },
      'file-not-text',
      'is not UTF-8 text; save it as UTF-8',
    ],
  ])('reports %s', async (_name, blob, code, message) => {
    expect(await load(entry('apps/web.yaml'), blob)).toMatchObject({
      name: 'web',
      parsed: { ok: false, problems: [{ line: 1, column: 1, code, message }] },
    });
  });

  it('reads at most the maximum size of a file', async () => {
    const { reads, read } = blobs({});
    await loadFile(entry('apps/web.yaml'), read, DEFAULTS);
    expect(reads).toEqual([['blob', MAX_FILE_BYTES]]);
  });
});
