import { lineOf, type SectionText } from '../../source/source.ts';
import type { StoreState } from '../../store/store.ts';
import { decodeMeta, decodeSection, isNewerFormat, META, type SectionContent } from './format.ts';

/** What a section of the record is to a store, and its version. */
export type Standing =
  | { kind: 'none'; version: null }
  /** There is something that is no section of this line. */
  | { kind: 'damaged'; version: string; message: string }
  /** A later version of the program wrote it; this one cannot read it, and leaves it alone. */
  | { kind: 'newer'; version: string }
  /**
   * `ours`: written for this store. `another`: for another store, about the same line; the devices are the same,
   * where one store was lost, restored or followed by the other.
   */
  | { kind: 'ours' | 'another'; version: string; section: SectionContent };

/** Says what the section of a line is, as it was read, to the store of this fleet. */
export function standingOf(text: SectionText | null, line: string, fleet: string): Standing {
  if (text === null) return { kind: 'none', version: null };
  const { version } = text;
  if ('files' in text && isNewerFormat(text.files.get(META))) return { kind: 'newer', version };
  const section = 'damage' in text ? text.damage : decodeSection(text.files);
  if (typeof section === 'string') return { kind: 'damaged', version, message: section };
  if (lineOf(section.meta) !== line)
    return { kind: 'damaged', version, message: 'it belongs to another folder or branch' };
  return { kind: section.meta.fleet === fleet ? 'ours' : 'another', version, section };
}

/**
 * Whether a section can know more than a store that has counters. Where it says of itself that it is this store's own
 * and no newer, its rows need not be read: there are thousands of them, and every start looks.
 */
export function mayKnowMore(
  text: SectionText | null,
  { fleet, idSequence }: Pick<StoreState, 'fleet' | 'idSequence'>,
): boolean {
  const meta = text === null || 'damage' in text ? null : decodeMeta(text.files.get(META));
  return meta !== null && (meta.fleet !== fleet || meta.idSequence > idSequence);
}
