import { access } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeFolder } from '../disk/folder.ts';
import { HoldfastError, messageOf } from '../errors.ts';
import type { Config } from '../settings.ts';
import type { Contents, ContentsTarget } from '../store/contents.ts';
import { type Copied, copyContents, type OnCopyProgress } from '../store/copy.ts';
import { Connection } from '../store/mongo/connection.ts';
import { MongoContents } from '../store/mongo/contents.ts';
import { MongoTarget } from '../store/mongo/contents-target.ts';
import type { AddressPlace } from '../store/mongo/errors.ts';
import { sqliteContents } from '../store/sqlite/contents.ts';
import { SqliteTarget } from '../store/sqlite/contents-target.ts';
import { storeError } from '../store/sqlite/errors.ts';
import { type FolderLock, lockFolder } from './open/folder-lock.ts';
import { checkMongoAddress } from './open/mongo-address.ts';
import { errorOfFile } from './open/store.ts';

const FILE = 'store.sqlite';
const MONGO_SCHEME = /^mongodb(\+srv)?:/;

/**
 * Copies the configured store. If `to` is a MongoDB URI, the target is the database `MONGODB_DATABASE` there; otherwise
 * it is the data folder `to`. Data folders are locked during the copy, because a manager that kept running would serve
 * ids that the copy lacks. Rejects with a HoldfastError; running it again continues the copy.
 */
export async function copyStore(config: Config, to: string, onProgress: OnCopyProgress): Promise<Copied> {
  const locks: FolderLock[] = [];
  try {
    await checkEnds(config, to);
    if (config.MONGODB_URI === null) locks.push(await lock(config.DATA_DIR));
    if (!MONGO_SCHEME.test(to)) locks.push(await lockTarget(to));
    return await copyBetween(openSource(config), openTarget(config, to), onProgress).catch(
      (error: unknown) => {
        throw storeError(error);
      },
    );
  } finally {
    for (const { release } of locks) release();
  }
}

async function copyBetween(
  source: Contents,
  target: ContentsTarget,
  onProgress: OnCopyProgress,
): Promise<Copied> {
  try {
    return await copyContents(source, target, onProgress);
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
}

/**
 * Checks that there is a store to copy, that MongoDB addresses are valid, and that both ends differ. Creates nothing.
 */
async function checkEnds({ MONGODB_URI, DATA_DIR }: Config, to: string): Promise<void> {
  if (MONGO_SCHEME.test(to)) await checkMongoAddress(to, '--to');
  if (MONGODB_URI !== null) return checkMongoAddress(MONGODB_URI, 'MONGODB_URI');
  await access(join(resolve(DATA_DIR), FILE)).catch(() => {
    const message = `there is no store in DATA_DIR (${resolve(DATA_DIR)}), and MONGODB_URI is not set`;
    throw new HoldfastError('invalid', message);
  });
  if (resolve(DATA_DIR) === resolve(to))
    throw new HoldfastError('invalid', 'the target already contains a store: it is DATA_DIR');
}

function openSource({ MONGODB_URI, MONGODB_DATABASE, DATA_DIR }: Config): Contents {
  if (MONGODB_URI !== null) return new MongoContents(connectTo(MONGODB_URI, 'MONGODB_URI', MONGODB_DATABASE));
  const path = join(resolve(DATA_DIR), FILE);
  try {
    return sqliteContents(path);
  } catch (error) {
    throw errorOfFile(path, error);
  }
}

function openTarget({ MONGODB_DATABASE }: Config, to: string): ContentsTarget {
  if (MONGO_SCHEME.test(to)) return new MongoTarget(connectTo(to, '--to', MONGODB_DATABASE));
  return new SqliteTarget(join(resolve(to), FILE));
}

async function lockTarget(to: string): Promise<FolderLock> {
  await makeFolder(resolve(to));
  return lock(to);
}

async function lock(path: string): Promise<FolderLock> {
  const folder = resolve(path);
  try {
    return await lockFolder(folder, process.pid, Date.now());
  } catch (error) {
    const message = messageOf(error).replace('DATA_DIR', () => folder);
    const reason = message.replace(/; stop that one.*$/, '; stop all managers of this store, and copy again');
    throw new HoldfastError('unavailable', `nothing was copied: ${reason}`, {}, error);
  }
}

function connectTo(uri: string, place: AddressPlace, database: string): Connection {
  return new Connection({
    uri,
    place,
    database,
    prepare: () => Promise.resolve(),
    onServer: () => undefined,
  });
}
