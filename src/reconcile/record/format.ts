import { createHash } from 'node:crypto';
import * as z from 'zod';
import { keyOf, Name } from '../../desired/name.ts';
import type { CounterRow } from '../../store/store.ts';

/** The version of the format. A later version of the program that raises it goes on reading the earlier ones. */
const FORMAT = 1;
export const META = 'meta.json';
/** A row has at most about 200 bytes, so that a whole record stays below what the source reads. */
export const MAX_ROWS = 300_000;
/** Beyond this there is no room left for ids to rise and stay exact, and nothing is read. */
export const MAX_ID = 2 ** 52;

const Digits = z.string().regex(/^[0-9a-f]{32}$/);
const ObjectId = z.string().regex(/^([0-9a-f]{40}|[0-9a-f]{64})$/);
const Id = z.int().min(0).max(MAX_ID);

const Meta = z.strictObject({
  format: z.literal(FORMAT),
  fleet: Digits,
  folder: z.string().max(4096),
  branch: z.string().max(4096).nullable(),
  idSequence: Id,
  revision: ObjectId.nullable(),
  tree: ObjectId.nullable(),
  rows: z.int().min(0).max(MAX_ROWS),
  highest: Id,
});

const NewerFormat = z.object({ format: z.int().gt(FORMAT) });

/** What a section of the record says of itself. */
export interface SectionMeta {
  /** The store that wrote it (`StoreState.fleet`). */
  fleet: string;
  /** Its line (`lineOf`): the path of the folder, and the branch. */
  folder: string;
  branch: string | null;
  /** `StoreState.idSequence` when the rows were read; no row is older. */
  idSequence: number;
  /** The revision that was applied then, and the id of the folder's tree in it; null where there was none. */
  revision: string | null;
  tree: string | null;
  /** How many rows there are, and the highest id in them. */
  rows: number;
  highest: number;
}

/** A section of the record of ids: what outlives the loss of a store. */
export interface SectionContent {
  meta: SectionMeta;
  rows: CounterRow[];
}

const Row = z.union([
  z.tuple([z.enum(['app', 'device_group']), Name, Id, Digits.nullable()]),
  z.tuple([z.literal('prune'), Name, Id, z.null()]),
]);
const Shard = z.array(Row);

/** A counter as one string, for maps; of an object's id it is the object's key. */
export function counterKey({ kind, name }: Pick<CounterRow, 'kind' | 'name'>): string {
  return kind === 'prune' ? `prune/${name}` : keyOf(kind, name);
}

/** The file that a name's rows are in: one of 256, so that a change rewrites little. */
export function shardOf(name: string): string {
  return `${createHash('sha256').update(name).digest('hex').slice(0, 2)}.json`;
}

/** The text of one file of rows: one a line, in a fixed order. */
export function encodeShard(rows: readonly CounterRow[]): string {
  const lines = rows.map(({ kind, name, last, hash }) => JSON.stringify([kind, name, last, hash]));
  return `[\n${lines.sort().join(',\n')}\n]\n`;
}

/** The text of the file `META`. */
export function encodeMeta(meta: SectionMeta): string {
  return `${JSON.stringify({ format: FORMAT, ...meta }, null, 2)}\n`;
}

/** What `encodeMeta` wrote; null where it was somebody else. */
export function decodeMeta(text: string | undefined): SectionMeta | null {
  try {
    const { format: _, ...meta } = Meta.parse(JSON.parse(text ?? ''));
    return meta;
  } catch {
    return null;
  }
}

/** Whether the file says that the section has a format which only a later version of the program knows. */
export function isNewerFormat(text: string | undefined): boolean {
  try {
    return NewerFormat.safeParse(JSON.parse(text ?? '')).success;
  } catch {
    return false;
  }
}

const FOREIGN = 'it is not what a manager writes';

/**
 * Reads a section as strictly as it was written: anybody who may push can write it, and half of one is worse than none.
 * Returns a sentence for one that is wrong.
 */
export function decodeSection(files: ReadonlyMap<string, string>): SectionContent | string {
  const meta = decodeMeta(files.get(META));
  if (meta === null) return FOREIGN;
  try {
    const rows = decodeRows(files);
    const isWhole = rows.length === meta.rows && highestId(rows) === meta.highest;
    return isWhole ? { meta, rows } : 'it does not have the rows that it declares';
  } catch {
    return FOREIGN;
  }
}

/** The highest id in any of these rows; 0 where there is none. */
export function highestId(rows: readonly CounterRow[]): number {
  return rows.reduce((highest, { last }) => Math.max(highest, last), 0);
}

/** Throws where anything is out of place. */
function decodeRows(files: ReadonlyMap<string, string>): CounterRow[] {
  const rows = new Map<string, CounterRow>();
  for (const [file, text] of files) {
    if (file === META) continue;
    for (const [kind, name, last, hash] of Shard.parse(JSON.parse(text))) {
      const key = counterKey({ kind, name });
      if (rows.has(key) || shardOf(name) !== file) throw new Error('a row is in the wrong file');
      rows.set(key, { kind, name, last, hash });
    }
  }
  return [...rows.values()];
}
