import { hash } from 'node:crypto';
import * as z from 'zod';
import { forEachYielding } from '../../async/pace.ts';
import { KINDS, keyOf, Name } from '../../protocol/name.ts';
import type { CounterRow } from '../id-store.ts';
import { lineOf, type RecordVersion } from '../record-ref.ts';

/** The version of the format. A later version of the program that raises it must still read the earlier formats. */
const FORMAT = 1;
export const META = 'meta.json';
/** A row has at most about 200 bytes, so a record of this size stays below the limit up to which a source reads it. */
export const MAX_ROWS = 300_000;
/** A record with a higher id is not read: above it, ids have no room left to rise and stay exact. */
export const MAX_ID = 2 ** 52;

const Hex32 = z.string().regex(/^[0-9a-f]{32}$/);
const ObjectId = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);
const Id = z.int().min(0).max(MAX_ID);

const Meta = z.strictObject({
  format: z.literal(FORMAT),
  fleet: Hex32,
  folder: z.string().max(4096),
  branch: z.string().max(4096).nullable(),
  idSequence: Id,
  revision: ObjectId.nullable(),
  rows: z.int().min(0).max(MAX_ROWS),
  highest: Id,
});

/** The `meta.json` of a record. */
export interface RecordMeta {
  /** The store that wrote it (`IdState.fleet`). */
  fleet: string;
  /** The line that the record is about (`lineOf`): the path of the folder, and the branch. */
  folder: string;
  branch: string | null;
  /** `IdState.idSequence` from after the rows were read: no row is newer. */
  idSequence: number;
  /** The revision that was applied then; null if there was none. */
  revision: string | null;
  /** The number of rows, and the highest id in them. */
  rows: number;
  highest: number;
}

/** A version of the record of ids, decoded. */
export interface RecordContent {
  meta: RecordMeta;
  rows: CounterRow[];
}

const Row = z.union([
  z.tuple([z.enum(KINDS), Name, Id, Hex32.nullable()]),
  z.tuple([z.literal('prune'), Name, Id, z.null()]),
]);
/** Any list: a check of all rows at once would describe what is wrong with each of millions. */
const Shard = z.array(z.unknown());
/** In rows there are no maps, and no lists within the list of a row. Parsing millions of levels takes seconds. */
const NESTED = /\{|\[[^\]]*\[[^\]]*\[/;

/** Characters of the file `META`, which needs far fewer. */
const MAX_META = 2 ** 16;

/** Returns a string that identifies a counter. For the id of an object it is the object's key (`keyOf`). */
export function counterKey({ kind, name }: Pick<CounterRow, 'kind' | 'name'>): string {
  return kind === 'prune' ? `prune/${name}` : keyOf(kind, name);
}

/** Returns the file for the rows of a name: one of 256, so that a change rewrites only a small part. */
export function shardOf(name: string): string {
  return `${hash('sha256', name, 'hex').slice(0, 2)}.json`;
}

/** Encodes a file of rows: one row per line, in a fixed order. */
export function encodeShard(rows: readonly CounterRow[]): string {
  const lines = rows.map(({ kind, name, last, hash }) => JSON.stringify([kind, name, last, hash]));
  return `[\n${lines.sort().join(',\n')}\n]\n`;
}

/** Encodes the file `META`. */
export function encodeMeta(meta: RecordMeta): string {
  return `${JSON.stringify({ format: FORMAT, ...meta }, null, 2)}\n`;
}

function parseMeta(text = ''): unknown {
  if (text.length > MAX_META) throw new Error('the file is too large');
  return JSON.parse(text);
}

/** Decodes the file `META` of a version; returns null if `encodeMeta` cannot have written it. */
export function decodeMeta(version: RecordVersion | null): RecordMeta | null {
  if (version === null || 'damage' in version) return null;
  try {
    const { format: _, ...meta } = Meta.parse(parseMeta(version.files.get(META)));
    return meta;
  } catch {
    return null;
  }
}

const FOREIGN = 'it is not what a manager writes';

/**
 * Decodes the record of a line as a whole or not at all: everyone who can push can write to it, and half a record is worse
 * than none. Resolves to a sentence on what is wrong with it if it cannot be decoded. Yields to the event loop.
 */
export async function decodeRecord(version: RecordVersion, line: string): Promise<RecordContent | string> {
  if ('damage' in version) return version.damage;
  const meta = decodeMeta(version);
  if (meta === null) return FOREIGN;
  if (lineOf(meta) !== line) return 'it belongs to another folder or branch';
  try {
    const rows = await decodeRows(version.files);
    const isWhole = rows.length === meta.rows && highestId(rows) === meta.highest;
    return isWhole ? { meta, rows } : 'it does not have the rows that it declares';
  } catch {
    return FOREIGN;
  }
}

/** Returns the highest id in these rows; 0 if there are no rows. */
export function highestId(rows: readonly CounterRow[]): number {
  return rows.reduce((highest, { last }) => Math.max(highest, last), 0);
}

/** Rejects if a row is invalid, in the wrong file or there twice. */
async function decodeRows(files: ReadonlyMap<string, string>): Promise<CounterRow[]> {
  const rows = new Map<string, CounterRow>();
  await forEachYielding(files, ([file, text]) => {
    if (file === META) return;
    if (NESTED.test(text)) throw new Error('a row has a list or a map');
    for (const row of Shard.parse(JSON.parse(text))) {
      const [kind, name, last, hash] = Row.parse(row);
      const key = counterKey({ kind, name });
      if (rows.has(key) || shardOf(name) !== file) throw new Error('a row is in the wrong file');
      rows.set(key, { kind, name, last, hash });
    }
  });
  return [...rows.values()];
}
