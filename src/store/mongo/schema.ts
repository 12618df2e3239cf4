import type { CreateIndexesOptions, Db, IndexSpecification } from 'mongodb';
import { HoldfastError } from '../../errors.ts';
import type { FleetHead, LeaseDocument, ReportsHead } from './documents.ts';
import { isDuplicateKey, isOtherIndex } from './errors.ts';

/** The names of the collections. That of the reports is the one that the Kafka reporter of Nebula fills. */
export const COLLECTIONS = {
  state: 'state',
  objects: 'objects',
  staged: 'staged_changes',
  operations: 'operations',
  reports: 'nebula_reports',
} as const;

/** Raised by every change of what documents mean. */
export const SCHEMA_VERSION = 1;

const FLEET_BYTES = 16;

type Index = [keys: IndexSpecification, options: CreateIndexesOptions];

/**
 * Everything unique is an `_id`, whose index is always there. These only spare work; those of reports serve an
 * equality first and give reports in their order.
 */
const INDEXES: Readonly<Record<string, readonly Index[]>> = {
  [COLLECTIONS.objects]: [[{ version: 1 }, { name: 'holdfast_version' }]],
  [COLLECTIONS.staged]: [
    [{ writer: 1 }, { name: 'holdfast_writer' }],
    [{ head: 1, version: 1 }, { name: 'holdfast_head' }],
  ],
  [COLLECTIONS.reports]: [
    [{ hostname: 1, _id: 1 }, { name: 'holdfast_hostname' }],
    [{ device_group: 1, _id: 1 }, { name: 'holdfast_device_group' }],
    [{ report_creation_time: 1, _id: 1 }, { name: 'holdfast_report_creation_time' }],
    [{ 'holdfast.arrived': 1 }, { name: 'holdfast_arrived' }],
  ],
};

export interface SchemaDocument {
  _id: string;
  version: number;
  /** The fleet that is being copied into this database; no manager may use it until that is finished. */
  copying?: string;
  /** The head that it is copied from, as JSON. */
  copyingFrom?: string;
}

/**
 * Makes what is missing: indexes, the two heads, the lease, the version of the schema. Any number of managers may do so
 * at once: each step does nothing where it was done. Rejects as `invalid`, and changes nothing, where a newer version
 * of the product has been here.
 */
export async function prepareSchema(db: Db, random: (size: number) => Uint8Array): Promise<void> {
  const state = db.collection<SchemaDocument>(COLLECTIONS.state);
  refuseUnusable(await state.findOne({ _id: 'schema' }));
  await createIndexes(db);
  await createOnce(db, newFleet(Buffer.from(random(FLEET_BYTES)).toString('hex')));
  await createOnce(db, newReports());
  await createOnce(db, newLease());
  await createOnce(db, { _id: 'schema', version: SCHEMA_VERSION });
  refuseUnusable(await state.findOne({ _id: 'schema' }));
}

export async function createIndexes(db: Db): Promise<void> {
  for (const [name, indexes] of Object.entries(INDEXES)) {
    for (const index of indexes) await createIndex(db, name, index);
  }
}

/** An index that others have made of the same keys serves as well. */
async function createIndex(db: Db, name: string, [keys, options]: Index): Promise<void> {
  try {
    await db.collection(name).createIndex(keys, options);
  } catch (error) {
    if (!isOtherIndex(error)) throw error;
  }
}

function refuseUnusable(schema: SchemaDocument | null): void {
  if (schema === null) return;
  refuseNewer(schema.version);
  if (schema.copying === undefined) return;
  const message = 'a copy into this database is unfinished; run "holdfast store copy" again';
  throw new HoldfastError('invalid', message);
}

/** Throws `invalid` where a newer version of the product has been here. */
export function refuseNewer(version: number): void {
  if (version <= SCHEMA_VERSION) return;
  const message =
    `the store was written by a newer version of Holdfast (its schema is ${version}, ` +
    `this version knows ${SCHEMA_VERSION}); run that version, or set MONGODB_DATABASE to a new one (containers restart once)`;
  throw new HoldfastError('invalid', message, { version, known: SCHEMA_VERSION });
}

async function createOnce(db: Db, document: { _id: string; version: number }): Promise<void> {
  try {
    await db.collection<SchemaDocument>(COLLECTIONS.state).insertOne({ ...document });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

const NEW_HEAD = { version: 0, writer: '', recent: [], isSettled: true, changes: [] };

/** The head of a store without anything; `fleet` is the identity of its fleet. */
export function newFleet(fleet: string): FleetHead {
  return {
    ...NEW_HEAD,
    _id: 'fleet',
    fleet,
    sequence: 0,
    claimed: null,
    attempted: null,
    applied: null,
    rules: null,
    seededFrom: null,
    floorOfOthers: 0,
    idSequence: 0,
    allChanged: 0,
    lastOid: null,
  };
}

export function newReports(): ReportsHead {
  return { ...NEW_HEAD, _id: 'reports', lastOid: null };
}

/** A lease that nobody holds. */
export function newLease(): LeaseDocument {
  return { _id: 'poll', version: 0, holder: null };
}
