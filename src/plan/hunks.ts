import { structuredPatch } from 'diff';
import type { FileDiff, Hunk } from '../protocol/plan.ts';

/** Lines that are shown before and after a change. */
const CONTEXT = 3;
/** The most added and removed lines that are compared; beyond, all lines count as changed, since time grows with the square. */
const MAX_EDITS = 400;

/** Returns a file with the hunks in which its text changes; a text is null where there is no file. */
export function fileDiff(path: string, before: string | null, after: string | null): FileDiff {
  return { path, before, after, hunks: hunksOf(before ?? '', after ?? '') };
}

function hunksOf(before: string, after: string): Hunk[] {
  const options = { context: CONTEXT, maxEditLength: MAX_EDITS };
  const patch =
    structuredPatch('', '', before, after, undefined, undefined, options) ?? replaced(before, after);
  return patch.hunks.map(({ oldStart, oldLines, newStart, newLines, lines }) => ({
    // As git does: a side without lines starts at the line before the change.
    old_start: oldLines === 0 ? oldStart - 1 : oldStart,
    old_lines: oldLines,
    new_start: newLines === 0 ? newStart - 1 : newStart,
    new_lines: newLines,
    lines,
  }));
}

/** Replaces a text as a whole. */
function replaced(before: string, after: string): ReturnType<typeof structuredPatch> {
  const removed = structuredPatch('', '', before, '').hunks;
  const added = structuredPatch('', '', '', after).hunks;
  const [old, next] = [removed[0], added[0]];
  const hunk = {
    oldStart: 1,
    oldLines: old?.oldLines ?? 0,
    newStart: 1,
    newLines: next?.newLines ?? 0,
    lines: [...(old?.lines ?? []), ...(next?.lines ?? [])],
  };
  return { hunks: [hunk] } as ReturnType<typeof structuredPatch>;
}
