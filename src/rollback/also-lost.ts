import type { Content } from '../desired/content.ts';
import { loadFile } from '../desired/load.ts';
import type { History } from '../history/history.ts';
import type { AppDefaults } from '../protocol/app.ts';
import { keyOf } from '../protocol/name.ts';
import { type NewestChanges, newestChanges } from './later-changes.ts';
import { type Leaf, leavesBetween } from './leaves.ts';
import type { RollbackAct } from './message.ts';
import type { Present, Rollback, RollbackEdit } from './rollback.ts';

/** How long a preview may look for what goes with a restore, in milliseconds. */
export const LOST_TIME = 1000;

export const NOTHING_LOST: NewestChanges = { changes: [], isComplete: true };

/**
 * Resolves to the fields that go back to another value with a restore, each with the newest commit since its revision that
 * changed it; none for an undo. `isLate` is asked before each commit; true ends the search, which is then not complete.
 */
export async function alsoLost(
  act: RollbackAct,
  { edits }: Rollback,
  present: Present,
  past: History,
  isLate: () => boolean,
): Promise<NewestChanges> {
  if ('undo' in act) return NOTHING_LOST;
  const leaves = new Map<string, Leaf[]>();
  for (const edit of edits) {
    const now = present.desired.object(edit.kind, edit.name)?.content;
    const then = await contentOf(edit, present.defaults);
    const differing = now === undefined || then === null ? [] : leavesBetween(then, now);
    if (differing.length > 0) leaves.set(keyOf(edit.kind, edit.name), differing);
  }
  return newestChanges(past, leaves, { from: present.revision, until: act.to, isLate }, present.defaults);
}

/** Null if the file goes, or is refused. */
async function contentOf({ path, text }: RollbackEdit, defaults: AppDefaults): Promise<Content | null> {
  if (text === null) return null;
  const read = async () => ({ bytes: Buffer.from(text) });
  const file = await loadFile({ path, type: 'file', blob: '' }, read, defaults);
  return file !== null && file.kind !== null && file.parsed.ok ? file.parsed.content : null;
}
