import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeFolder } from '../../src/disk/folder.ts';
import { temporaryFolder } from '../support/folder.ts';

describe('makeFolder', () => {
  it('resolves to the topmost folder that it created, from which on the names must be synced', async () => {
    const top = await temporaryFolder();
    expect(await makeFolder(join(top, 'a/b/c'))).toBe(join(top, 'a'));
    expect(await makeFolder(join(top, 'a/b/d'))).toBe(join(top, 'a/b/d'));
    expect(await makeFolder(join(top, 'a/b'))).toBeNull();
  });
});
