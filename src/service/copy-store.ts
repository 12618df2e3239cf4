import { access, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { HoldfastError } from '../errors.ts';
import type { Config } from '../settings.ts';
import type { Contents, ContentsTarget } from '../store/contents.ts';
import { type Copied, copyContents, type TellCopy } from '../store/copy.ts';
import { Connection } from '../store/mongo/connection.ts';
import { MongoContents } from '../store/mongo/contents.ts';
import { MongoTarget } from '../store/mongo/contents-target.ts';
import { sqliteContents } from '../store/sqlite/contents.ts';
import { SqliteTarget } from '../store/sqlite/contents-target.ts';

const FILE = 'store.sqlite';

/**
 * Copies the store of these settings: to the database `MONGODB_DATABASE` of a MongoDB where `to` is its URI, and
 * otherwise into the data folder `to`. Rejects with a HoldfastError; running it again goes on.
 */
export async function copyStore(config: Config, to: string, tell: TellCopy): Promise<Copied> {
  const source = await openSource(config);
  const target = await openTarget(config, to);
  try {
    return await copyContents(source, target, tell);
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
}

async function openSource({ MONGODB_URI, MONGODB_DATABASE, DATA_DIR }: Config): Promise<Contents> {
  if (MONGODB_URI !== null) return new MongoContents(connectTo(MONGODB_URI, MONGODB_DATABASE));
  const path = join(resolve(DATA_DIR), FILE);
  await access(path).catch(() => {
    throw new HoldfastError('invalid', 'there is no store in DATA_DIR, and MONGODB_URI is not set');
  });
  return sqliteContents(path);
}

async function openTarget({ MONGODB_DATABASE }: Config, to: string): Promise<ContentsTarget> {
  if (/^mongodb(\+srv)?:/.test(to)) return new MongoTarget(connectTo(to, MONGODB_DATABASE));
  await mkdir(resolve(to), { recursive: true, mode: 0o700 });
  return new SqliteTarget(join(resolve(to), FILE));
}

function connectTo(uri: string, database: string): Connection {
  const nothing = (): Promise<void> => Promise.resolve();
  return new Connection({ uri, database, prepare: nothing, onServer: () => undefined });
}
