import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../support/manager.ts';

/** Overwrites the first page of a table, as a bad block of the disk does. */
async function damage(path: string, table: string): Promise<void> {
  const database = new DatabaseSync(path);
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const { page_size: size } = database.prepare('PRAGMA page_size').get() as { page_size: number };
  const row = database.prepare('SELECT rootpage FROM sqlite_master WHERE name = ?').get(table);
  database.close();
  const { rootpage } = row as { rootpage: number };
  const file = await open(path, 'r+');
  await file.write(Buffer.alloc(size, 0xff), 0, size, (rootpage - 1) * size);
  await file.close();
}

// A worker that starts stops its containers as soon as the status is 200, and only then requests its apps.
it.each(['objects', 'counters'])(
  'GET /api/v2/status is 503 after a restart with a damaged table %s, until the store was deleted and rebuilt',
  async (table) => {
    const first = await startManager({ files: SMALL_FLEET });
    await first.stop();
    const store = join(first.dataFolder, 'store.sqlite');
    await damage(store, table);
    const next = await first.restart();
    expect((await next.get('/api/v2/device_groups/edge/info')).status).toBe(503);
    await next.reconcile();
    const { status, body } = await next.get('/api/v2/status');
    expect([status, body]).toEqual([503, { api_available: false }]);
    await next.stop();
    for (const suffix of ['', '-wal', '-shm']) await rm(`${store}${suffix}`, { force: true });
    const again = await next.restart();
    expect((await again.get('/api/v2/status')).status).toBe(200);
  },
);
