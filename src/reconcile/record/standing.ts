import type { IdsRecord } from '../../source/source.ts';
import { decodeRecord, type RecordContent } from './format.ts';

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

/** Reads the record and says what it is to the store of this fleet. Rejects as `unavailable`. */
export async function lookAtRecord(keeper: IdsRecord, fleet: string): Promise<Standing> {
  const text = await keeper.read();
  if (text === null) return { kind: 'none', tip: null };
  const { tip } = text;
  const record = 'damage' in text ? text.damage : decodeRecord(text.files);
  if (typeof record === 'string') return { kind: 'damaged', tip, message: record };
  if (record.meta.fleet === fleet) return { kind: 'ours', tip, record };
  return { kind: record.meta.place === keeper.place ? 'another' : 'elsewhere', tip, record };
}
