import type { Effect } from '../../plan/effect.ts';
import { fileDiff } from '../../plan/hunks.ts';
import type { Step } from '../../plan/step.ts';
import { keyOf } from '../../protocol/name.ts';
import type { FileDiff, Hunk } from '../../protocol/plan.ts';
import { printable } from '../../text/printable.ts';
import { effectLines, type Paint, stepLines, totalsLines } from '../shell/report.ts';
import { changeText, type EntryHead, headText, type ListedChange } from './history-text.ts';

/** An entry of the history as people see it by itself, from git and from a manager alike. */
export interface ShownEntry {
  head: EntryHead;
  steps: readonly Step[];
  changes: readonly ShownChange[];
  /** All files, with their texts. */
  files: readonly FileDiff[];
  effects: readonly Effect[];
  /** The last line. */
  summary: string;
}

/** What became of one object, and of its file. */
export interface ShownChange extends ListedChange {
  /** Such as `app/web`. */
  key: string;
  /** The path of its file, as `files` have it; null if that is not known. */
  path: string | null;
  /** Likewise, if the file moved. */
  movedFrom: string | null;
}

/**
 * Returns the text of an entry: values before and after, and hunks of those files whose change these do not show, such as one
 * of comments.
 */
export function shownText(
  { head, steps, changes, files, effects, summary }: ShownEntry,
  paint: Paint,
): string {
  const keys = new Set(steps.map(({ kind, name }) => keyOf(kind, name)));
  const inSteps = changes.filter(({ key }) => keys.has(key));
  const others = changes.filter(({ key }) => !keys.has(key));
  const isInSteps = ({ path }: FileDiff): boolean =>
    inSteps.some((change) => path === change.path || path === change.movedFrom);
  const otherFiles = withMoves(
    files.filter((file) => !isInSteps(file)),
    others,
  );
  const lines = [
    ...totalsLines(steps, effects, paint),
    ...steps.flatMap((step) => stepLines(step, paint)),
    ...others.map((change) => changeText(change, paint)),
    ...(others.length === 0 ? [] : ['']),
    ...otherFiles.flatMap((file) => [...fileLines(file, paint), '']),
    ...effectLines('On devices:', effects, paint),
    summary,
  ];
  return `${headText(head, paint)}\n${lines.join('\n')}\n`;
}

/** Makes one difference of the two that a moved file has. */
function withMoves(files: readonly FileDiff[], changes: readonly ShownChange[]): FileDiff[] {
  const moves = changes.flatMap(({ path, movedFrom }) => {
    const from = files.find((file) => file.path === movedFrom);
    const to = files.find((file) => file.path === path);
    return from === undefined || to === undefined ? [] : [{ from, to }];
  });
  const rest = files.filter((file) => !moves.some(({ from, to }) => file === from || file === to));
  return [
    ...moves.map(({ from, to }) => fileDiff(`${from.path} -> ${to.path}`, from.before, to.after)),
    ...rest,
  ];
}

function fileLines({ path, hunks, too_large }: FileDiff, paint: Paint): string[] {
  const left = too_large === true ? ['  not shown, since this is too large'] : [];
  return [paint('bold', printable(path)), ...left, ...hunks.flatMap((hunk) => hunkLines(hunk, paint))];
}

function hunkLines(hunk: Hunk, paint: Paint): string[] {
  const { old_start: old, old_lines: removed, new_start: start, new_lines: added, lines } = hunk;
  return [
    paint('dim', `@@ -${old},${removed} +${start},${added} @@`),
    ...lines.map((line) => {
      const text = printable(line);
      return line.startsWith('+') ? paint('green', text) : line.startsWith('-') ? paint('red', text) : text;
    }),
  ];
}
