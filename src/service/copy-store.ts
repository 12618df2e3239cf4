import { access, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { HoldfastError } from '../errors.ts';
import type { Config } from '../settings.ts';
import type { Contents, ContentsTarget } from '../store/contents.ts';
import { type Copied, copyContents, type Progress } from '../store/copy.ts';
import { Connection } from '../store/mongo/connection.ts';
import { MongoContents } from '../store/mongo/contents.ts';
import { sqliteContents, sqliteTarget } from '../store/sqlite/contents.ts';

const FILE = 'store.sqlite';

/**
 * Copies the store of these settings: to the database `MONGODB_DATABASE` of a MongoDB where `to` is its URI, and
 * otherwise into the data folder `to`. Rejects with a HoldfastError; running it again goes on.
 */
export async function copyStore(config: Config, to: string, progress: Progress): Promise<Copied> {
  const source = await openSource(config);
  const target = await openTarget(config, to);
  try {
    return await copyContents(source, target, progress);
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
}

async function openSource({ MONGODB_URI, MONGODB_DATABASE, DATA_DIR }: Config): Promise<Contents> {
  if (MONGODB_URI !== null) return mongo(MONGODB_URI, MONGODB_DATABASE);
  const path = join(resolve(DATA_DIR), FILE);
  await access(path).catch(() => {
    throw new HoldfastError('invalid', 'there is no store in DATA_DIR, and MONGODB_URI is not set');
  });
  return sqliteContents(path);
}

async function openTarget({ MONGODB_DATABASE }: Config, to: string): Promise<ContentsTarget> {
  if (/^mongodb(\+srv)?:/.test(to)) return mongo(to, MONGODB_DATABASE);
  await mkdir(resolve(to), { recursive: true, mode: 0o700 });
  return sqliteTarget(join(resolve(to), FILE));
}

function mongo(uri: string, database: string): MongoContents {
  const nothing = (): Promise<void> => Promise.resolve();
  return new MongoContents(new Connection({ uri, database, prepare: nothing, onServer: () => undefined }));
}
