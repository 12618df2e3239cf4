import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { diskUsage } from '../../../src/worker/engine/disk.ts';
import { temporaryFolder } from '../../support/folder.ts';

describe('the usage of the disk', () => {
  it('is that of the file system with the folder of the engine', async () => {
    const folder = await temporaryFolder();
    const { blocks, bsize } = await statfs(folder);
    const { total, free, used, freeInodes } = await diskUsage(folder);
    expect(total).toBe(blocks * bsize);
    expect(free).toBeLessThanOrEqual(total);
    expect([used >= 0, used <= 1, freeInodes >= 0, freeInodes <= 1]).toEqual([true, true, true, true]);
  });

  it('is that of the root if the folder is not visible, as in a container', async () => {
    const { blocks, bsize } = await statfs('/');
    const missing = join(await temporaryFolder(), 'missing');
    expect(await diskUsage(missing)).toMatchObject({ total: blocks * bsize });
  });
});
