import type { RecordDraft } from '../../../../src/ids/record-ref.ts';

/** When all drafts are made, Unix milliseconds. */
export const AT = 1_700_000_000_000;
export const FLEET = '0123456789abcdef0123456789abcdef';

/** A new version of the record of ids, with the arguments that tests vary. */
export function recordDraft(
  files: Readonly<Record<string, string>>,
  base: string | null,
  continues = false,
): RecordDraft {
  return { files: new Map(Object.entries(files)), base, continues, writer: FLEET, at: AT };
}
