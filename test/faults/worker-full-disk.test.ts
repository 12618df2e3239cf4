import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createMemoryFile } from '../../src/worker/data-dir/memory-file.ts';
import { emptyMemory } from '../../src/worker/plan/memory.ts';
import { WAYS } from './full-disk.ts';

const [SMALL_DISK] = WAYS;

/** A memory of some hundred kilobytes. */
function largeMemory(groupId: number) {
  const body = {
    apps: Array.from({ length: 4000 }, (_, app) => ({ app_name: `app-${app}`, filler: 'x'.repeat(60) })),
  };
  return { ...emptyMemory(), groupId, reply: { source: 's', etag: '"e"', revision: null, body } };
}

describe.runIf(SMALL_DISK?.isPossible)('the memory of a worker on a full disk', () => {
  it('keeps its last text whole, says that it is not saved, and is saved once there is room', async () => {
    const disk = await SMALL_DISK!.make();
    const file = createMemoryFile(disk.folder, () => 0);
    expect(await file.write(largeMemory(1))).toBeNull();
    const before = await readFile(join(disk.folder, 'worker.json'), 'utf8');
    disk.fill(process.pid);
    expect(await file.write(largeMemory(2))).toMatch(/worker\.json cannot be written: ENOSPC/);
    expect(await readFile(join(disk.folder, 'worker.json'), 'utf8')).toBe(before);
    expect(await readdir(disk.folder)).not.toContain('worker.json.new');
    disk.free(process.pid);
    expect(await file.write(largeMemory(2))).toBeNull();
    expect((await createMemoryFile(disk.folder, () => 0).read()).memory.groupId).toBe(2);
  });
});
