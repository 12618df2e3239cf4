import { subjectOf } from '../history/message.ts';
import { subjectLine, summarizeStep } from '../plan/describe.ts';
import type { Step } from '../plan/step.ts';
import { messageLine, messageParagraphs } from '../text/message.ts';

/** What a rollback does: restore to a commit, or undo one with this message. Both are full commit ids. */
export type RollbackAct = { to: string } | { undo: string; subject: string };

const SHORT_ID = 12;
const MAX_SUBJECT = 72;

/** Returns the trailer that names the commit: `Restores: 3f2a…`, or `Undoes: 3f2a…`. */
export function trailerOf(act: RollbackAct): string {
  return 'to' in act ? `Restores: ${act.to}` : `Undoes: ${act.undo}`;
}

/**
 * Returns the subject of the commit that takes these steps: that of one object says what changes, as in
 * `app web: restore to 3f2a1c9e0b4d (container_image 2.15.0 -> 2.14.1)`.
 */
export function rollbackSubject(act: RollbackAct, steps: readonly Step[]): string {
  const does =
    'to' in act ? `restore to ${act.to.slice(0, SHORT_ID)}` : `undo ${act.undo.slice(0, SHORT_ID)}`;
  const [step] = steps;
  if (steps.length === 1 && step !== undefined) {
    const details = summarizeStep(step).replace(/^[^:]*: /, '');
    return subjectLine(step, [`${does} (${details})`, does]);
  }
  if ('to' in act) return steps.length === 0 ? does : `${does}: ${steps.length} objects`;
  const subject = `${does}: ${subjectOf(act.subject)}`;
  return subject.length > MAX_SUBJECT ? `${subject.slice(0, MAX_SUBJECT - 1)}…` : subject;
}

/** Returns the message of the commit, with the reason as its body. */
export function messageOf(act: RollbackAct, steps: readonly Step[], reason: string | null): string {
  const sentences = steps.length < 2 ? '' : steps.map(summarizeStep).join('\n');
  const parts = [
    messageLine(rollbackSubject(act, steps)),
    messageParagraphs(reason ?? ''),
    sentences,
    trailerOf(act),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}
