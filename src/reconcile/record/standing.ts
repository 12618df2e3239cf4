import type { RecordText } from '../../source/source.ts';
import type { StoreState } from '../../store/store.ts';
import { decodeMeta, decodeRecord, type RecordContent } from './format.ts';

/** What the record is to a store, and the tip of its ref. */
export type Standing =
  | { kind: 'none'; tip: null }
  /** There is something that is no record. */
  | { kind: 'damaged'; tip: string; message: string }
  /**
   * `ours`: written for this store. `another`: for another store, about the same folder; the devices are the same,
   * where one store was lost, restored or followed by the other. `elsewhere`: for another store and folder.
   */
  | { kind: 'ours' | 'another' | 'elsewhere'; tip: string; record: RecordContent };

/** Says what a record that was read is to the store of this fleet; `place` is that of its keeper. */
export function standingOf(text: RecordText | null, place: string, fleet: string): Standing {
  if (text === null) return { kind: 'none', tip: null };
  const { tip } = text;
  const record = 'damage' in text ? text.damage : decodeRecord(text.files);
  if (typeof record === 'string') return { kind: 'damaged', tip, message: record };
  if (record.meta.fleet === fleet) return { kind: 'ours', tip, record };
  return { kind: record.meta.place === place ? 'another' : 'elsewhere', tip, record };
}

/**
 * Whether a record can know more than a store that has counters. Where it says of itself that it is this store's own
 * and no newer, its rows need not be read: there are thousands of them, and every start looks.
 */
export function mayKnowMore(
  text: RecordText | null,
  { fleet, idSequence }: Pick<StoreState, 'fleet' | 'idSequence'>,
): boolean {
  const meta = text === null || 'damage' in text ? null : decodeMeta(text.files);
  return meta !== null && (meta.fleet !== fleet || meta.idSequence > idSequence);
}
