import type { CreateIndexesOptions, Db, IndexSpecification } from 'mongodb';
import { isDuplicateKey, isIndexConflict } from '../../mongo/errors.ts';
import { refuseOtherSchema } from './version.ts';

/** The names of the collections. Nebula's Kafka reporter fills that of the reports, too. */
export const COLLECTIONS = {
  state: 'state',
  objects: 'objects',
  staged: 'staged_changes',
  acts: 'acts',
  entries: 'history',
  entryParts: 'history_parts',
  reports: 'nebula_reports',
  devices: 'devices',
  deviceReports: 'device_reports',
  incidents: 'incidents',
  asks: 'asks',
} as const;

/** Raised with every change of the meaning of documents. */
export const SCHEMA_VERSION = 7;

type Index = [keys: IndexSpecification, options: CreateIndexesOptions];

/**
 * These indexes only save work: everything unique is an `_id`, which always has an index. Those of reports select by
 * one field and return reports in the order of `_id`.
 */
const INDEXES: Readonly<Record<string, readonly Index[]>> = {
  [COLLECTIONS.objects]: [[{ version: 1 }, { name: 'holdfast_version' }]],
  [COLLECTIONS.staged]: [
    [{ writer: 1 }, { name: 'holdfast_writer' }],
    [{ version: 1 }, { name: 'holdfast_version' }],
  ],
  [COLLECTIONS.acts]: [[{ number: 1, part: 1 }, { name: 'holdfast_number' }]],
  [COLLECTIONS.entries]: [
    [{ keys: 1, _id: -1 }, { name: 'holdfast_keys' }],
    [{ idSequence: 1, _id: 1 }, { name: 'holdfast_id_sequence' }],
  ],
  [COLLECTIONS.devices]: [[{ keptAt: 1 }, { name: 'holdfast_kept_at' }]],
  [COLLECTIONS.entryParts]: [
    [{ n: 1, part: 1 }, { name: 'holdfast_n' }],
    [{ keys: 1, n: -1 }, { name: 'holdfast_keys' }],
  ],
  [COLLECTIONS.reports]: [
    [{ hostname: 1, _id: 1 }, { name: 'holdfast_hostname' }],
    [{ device_group: 1, _id: 1 }, { name: 'holdfast_device_group' }],
    [{ report_creation_time: 1, _id: 1 }, { name: 'holdfast_report_creation_time' }],
    [{ 'holdfast.arrived': 1 }, { name: 'holdfast_arrived' }],
  ],
};

/** A document of the state. */
interface Versioned {
  _id: string;
  version: number;
}

/**
 * Creates what is missing: indexes, this root, the version of the schema. Several managers can do so at
 * the same time: each step does nothing if it is already done. Changes nothing if `refuseOther` rejects.
 */
export async function prepareSchema(db: Db, root: Versioned): Promise<void> {
  await refuseOther(db);
  await createIndexes(db);
  await createOnce(db, root);
  await createOnce(db, { _id: 'schema', version: SCHEMA_VERSION });
  await refuseOther(db);
}

async function createIndexes(db: Db): Promise<void> {
  for (const [name, indexes] of Object.entries(INDEXES)) {
    for (const index of indexes) await createIndex(db, name, index);
  }
}

/** Accepts an index of the same keys that someone else has created. */
async function createIndex(db: Db, name: string, [keys, options]: Index): Promise<void> {
  try {
    await db.collection(name).createIndex(keys, options);
  } catch (error) {
    if (!isIndexConflict(error)) throw error;
  }
}

/** Rejects as `invalid` if a newer or an unreleased version of the product has used the database. */
async function refuseOther(db: Db): Promise<void> {
  const schema = await db.collection<Versioned>(COLLECTIONS.state).findOne({ _id: 'schema' });
  if (schema === null) return;
  refuseOtherSchema(
    schema.version,
    SCHEMA_VERSION,
    'set MONGODB_DATABASE to a new one (containers restart once)',
  );
}

async function createOnce(db: Db, document: Versioned): Promise<void> {
  try {
    await db.collection<Versioned>(COLLECTIONS.state).insertOne({ ...document });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}
