import { loadFile } from '../desired/load.ts';
import type { FileChange } from '../desired/state.ts';
import type { History } from '../history/history.ts';
import type { AppDefaults } from '../protocol/app.ts';
import type { ObjectKey } from '../protocol/name.ts';
import type { RollbackAct } from './message.ts';
import { restore } from './restore.ts';
import type { Present, Rollback, RollbackEdit, RollbackOptions } from './rollback.ts';
import { type Selection, selectedObjects } from './selection.ts';
import { commitToUndo, undo } from './undo.ts';

/**
 * What is to go back, by full commit ids: objects to a revision, or what a commit changed in these objects (null: in all).
 */
export type Target =
  | { to: string; selection: Selection }
  | { undo: string; objects: readonly ObjectKey[] | null };

/** Works out the way back. Rejects as `absent` or `invalid` as `restore` and `undo` do. */
export async function workOut(
  target: Target,
  options: RollbackOptions,
  present: Present,
  history: History,
): Promise<{ act: RollbackAct; way: Rollback }> {
  if ('to' in target) {
    const { to, selection } = target;
    const objects = await selectedObjects(selection, to, present, history);
    return { act: { to }, way: await restore({ ...options, to, objects }, present, history) };
  }
  const commit = await commitToUndo(history, target.undo);
  const { objects } = target;
  const way = await undo({ ...options, commit, objects }, present, history);
  return { act: { undo: target.undo, subject: commit.message }, way };
}

/** Resolves to the changes of the desired state that edits make. */
export async function editedFiles(
  edits: readonly RollbackEdit[],
  defaults: AppDefaults,
): Promise<FileChange[]> {
  const changes: FileChange[] = [];
  for (const { path, text } of edits) {
    const read = async () => ({ bytes: Buffer.from(text ?? '') });
    const entry = { path, type: 'file', blob: '' } as const;
    changes.push({ path, file: text === null ? null : await loadFile(entry, read, defaults) });
  }
  return changes;
}
