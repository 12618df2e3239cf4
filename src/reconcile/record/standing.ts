import { lineOf, type RecordText } from '../../source/source.ts';
import type { StoreState } from '../../store/store.ts';
import { decodeMeta, decodeRecord, type RecordContent } from './format.ts';

/** What a section of the record is to a store, and its version. */
export type Standing =
  | { kind: 'none'; version: null }
  /** There is something that is no section of this line. */
  | { kind: 'damaged'; version: string; message: string }
  /**
   * `ours`: written for this store. `another`: for another store, about the same line; the devices are the same,
   * where one store was lost, restored or followed by the other.
   */
  | { kind: 'ours' | 'another'; version: string; record: RecordContent };

/** Says what the section of a line is, as it was read, to the store of this fleet. */
export function standingOf(text: RecordText | null, line: string, fleet: string): Standing {
  if (text === null) return { kind: 'none', version: null };
  const { version } = text;
  const record = 'damage' in text ? text.damage : decodeRecord(text);
  if (typeof record === 'string') return { kind: 'damaged', version, message: record };
  if (!isOf(line, record, fleet))
    return { kind: 'damaged', version, message: 'it belongs to another folder or branch' };
  return { kind: record.meta.fleet === fleet ? 'ours' : 'another', version, record };
}

/**
 * A record from before there were sections does not say its branch, and was taken for that of every branch of its
 * folder. One store wrote it for all lines that it followed.
 */
function isOf(line: string, { meta, isUndivided }: RecordContent, fleet: string): boolean {
  if (!isUndivided) return lineOf(meta) === line;
  return meta.fleet === fleet || meta.place === line || line.startsWith(`${meta.place}:`);
}

/**
 * Whether a section can know more than a store that has counters. Where it says of itself that it is this store's own
 * and no newer, its rows need not be read: there are thousands of them, and every start looks.
 */
export function mayKnowMore(
  text: RecordText | null,
  { fleet, idSequence }: Pick<StoreState, 'fleet' | 'idSequence'>,
): boolean {
  const meta = text === null || 'damage' in text ? null : decodeMeta(text);
  return meta !== null && (meta.fleet !== fleet || meta.idSequence > idSequence);
}
