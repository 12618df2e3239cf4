import type { IdState } from '../id-store.ts';
import { lineOf, type SectionText } from '../ids-record.ts';
import { decodeMeta, decodeSection, META, type SectionContent } from './format.ts';

/** A section of the record, by what it means for a store, with its version. */
export type ClassifiedSection =
  | { kind: 'none'; version: null }
  /** It cannot be read as a section of the line, as one that a later version of the program wrote in another format. */
  | { kind: 'damaged'; version: string; message: string }
  /**
   * `ours`: this store wrote it. `another`: another store of the same line did; if one of the two was lost, restored from
   * a backup or replaced by the other, both have served the same devices.
   */
  | { kind: 'ours' | 'another'; version: string; section: SectionContent };

/** Decodes the section of a line as it was read, and classifies it for the store of this fleet. */
export function classifySection(text: SectionText | null, line: string, fleet: string): ClassifiedSection {
  if (text === null) return { kind: 'none', version: null };
  const { version } = text;
  const section = 'damage' in text ? text.damage : decodeSection(text.files);
  if (typeof section === 'string') return { kind: 'damaged', version, message: section };
  if (lineOf(section.meta) !== line)
    return { kind: 'damaged', version, message: 'it belongs to another folder or branch' };
  return { kind: section.meta.fleet === fleet ? 'ours' : 'another', version, section };
}

/**
 * Whether a section can have ids that a store with counters does not know. Decides by `meta.json` alone: every start asks
 * this, and the rows that this very store wrote last need not be decoded. A section that is behind the store can have
 * such ids, too, if the store is a copy: then it has given other ids since.
 */
export function mayKnowMore(
  text: SectionText | null,
  { fleet, idSequence }: Pick<IdState, 'fleet' | 'idSequence'>,
): boolean {
  const meta = text === null || 'damage' in text ? null : decodeMeta(text.files.get(META));
  return meta !== null && (meta.fleet !== fleet || meta.idSequence !== idSequence);
}
