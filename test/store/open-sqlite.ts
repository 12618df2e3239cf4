import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { appDefaults } from '../../src/protocol/app.ts';
import { openSqliteStore } from '../../src/store/open/sqlite.ts';
import { type FlatStore, flat } from '../support/flat-store.ts';
import type { OpenedStore, StoreOptions } from './contract/support.ts';

/** Opens the store in this file, with the built-in defaults. */
export async function openAt(path: string, options: StoreOptions = {}): Promise<FlatStore> {
  const defaults = appDefaults(['nebula', 'bridge']);
  return flat(await openSqliteStore({ path, defaults, random: randomBytes, ...options }));
}

export interface OpenedSqliteStore extends OpenedStore {
  /** The file of the database. */
  path: string;
}

/** A new store in a folder of its own. */
export async function openInTemporaryFolder(options: StoreOptions = {}): Promise<OpenedSqliteStore> {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-store-'));
  const path = join(folder, 'store.db');
  let current = await openAt(path, options);
  return {
    store: current,
    path,
    async reopen(changed = options) {
      await current.close();
      current = await openAt(path, changed);
      return current;
    },
    async cleanup() {
      await current.close();
      await rm(folder, { recursive: true });
    },
  };
}
