import { type Db, type Document, MongoServerError } from 'mongodb';

/** The server at `MONGODB_URI`. */
export interface ServerInfo {
  /** `MongoDB`, or the name of a product that speaks its protocol. */
  product: string;
  version: string;
  topology: 'replica set' | 'sharded cluster' | 'standalone server';
  /** What the operator should know, one sentence each. */
  warnings: string[];
}

/** The oldest supported major version of MongoDB. */
const OLDEST = 6;

/** Asks the server for its product, version and topology. */
export async function describeServer(db: Db): Promise<ServerInfo> {
  const build = await db.command({ buildInfo: 1 });
  const hello = await greet(db);
  const product = productOf(build);
  const version = String(build['version'] ?? 'unknown');
  const topology = topologyOf(hello);
  return { product, version, topology, warnings: warningsFor(product, version, topology) };
}

const COMMAND_NOT_FOUND = 59;

/** Some compatible products know the command only by its old name. */
async function greet(db: Db): Promise<Document> {
  try {
    return await db.command({ hello: 1 });
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== COMMAND_NOT_FOUND) throw error;
    return db.command({ isMaster: 1 });
  }
}

/** Compatible products also report a version of MongoDB, but not the storage engines that it lists. */
function productOf(build: Document): string {
  const engines: unknown = build['storageEngines'];
  return Array.isArray(engines) && engines.includes('wiredTiger') ? 'MongoDB' : 'an unknown product';
}

function topologyOf(hello: Document): ServerInfo['topology'] {
  if (hello['msg'] === 'isdbgrid') return 'sharded cluster';
  return hello['setName'] === undefined ? 'standalone server' : 'replica set';
}

function warningsFor(product: string, version: string, topology: ServerInfo['topology']): string[] {
  const warnings: string[] = [];
  if (product !== 'MongoDB') {
    warnings.push(
      'the store is not MongoDB, and its updates may be unsafe with several managers; run only one manager',
    );
  } else if (Number.parseInt(version, 10) < OLDEST) {
    warnings.push(`the store is older than MongoDB ${OLDEST}, the oldest supported version; upgrade it`);
  }
  if (topology === 'standalone server') {
    warnings.push('the store is a standalone server: it is not highly available');
  }
  return warnings;
}
