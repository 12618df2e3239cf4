import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../../support/manager.ts';

describe('a start on a store that is damaged', () => {
  it.each([
    ['in its first page', 100, /^the store is damaged/],
    ['in its header', 0, /is not a database/],
  ])('%s is refused as what a restart does not mend', async (_, at, message) => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.stop();
    const file = await open(join(manager.dataFolder, 'store.sqlite'), 'r+');
    await file.write(Buffer.alloc(2000, 0xff), 0, 2000, at);
    await file.close();
    await expect(manager.restart()).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(message),
    });
  });
});
