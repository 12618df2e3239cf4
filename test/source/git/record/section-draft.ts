import type { SectionDraft } from '../../../../src/ids/ids-record.ts';

/** Commit time of all drafts, Unix milliseconds. */
const AT = 1_700_000_000_000;

/** A new version of a manager's section in the record of ids, with the arguments that tests vary. */
export function sectionDraft(
  files: Readonly<Record<string, string>>,
  expected: string | null,
  keepsOtherFiles = false,
): SectionDraft {
  return { files: new Map(Object.entries(files)), expected, keepsOtherFiles, at: AT };
}
