import { writeFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { mapConcurrently } from '../../../async/concurrency.ts';
import type { FileEdit } from '../../source.ts';
import { commands } from '../process/commands.ts';
import { blobIdLike } from '../process/object-ids.ts';
import { GitFailure } from '../process/run.ts';
import { type Checkout, changeIndex, type HeldCheckout, indexPath } from '../work-tree/held-index.ts';
import { patchPath } from '../work-tree/holders.ts';
import { FILE_CONCURRENCY, switchTree } from '../work-tree/work-tree.ts';
import { quote } from './commit-writer.ts';
import { fileMark, type SwitchNote } from './switch-note.ts';

/**
 * Switches index and work tree from commit to commit. While nobody else changes the index, it knows that the index has
 * exactly the entries of the commit. Then git need not compare two trees with every entry to protect uncommitted work,
 * which takes half the time of a write to ten thousand files (docs/decisions/0019-patch-a-clean-checkout.md).
 */
export interface TreeSwitcher {
  /**
   * Prepares a switch away from `base`, while the index is not locked. Resolves to null if only git can tell whether
   * the index has uncommitted work.
   */
  prepare(checkout: Checkout, base: string, edits: readonly FileEdit[]): Promise<CleanIndex | null>;
  /**
   * Switches index and files. `files` are the marks of all files that differ, from before the switch. Rejects as
   * `switchTree` does.
   */
  switch(held: HeldCheckout, step: SwitchStep): Promise<void>;
}

interface SwitchStep {
  clean: CleanIndex | null;
  from: string;
  to: string;
  files: SwitchNote['files'];
}

/** An index with exactly the entries of a commit, those of the desired-state folder all plain files. */
export interface CleanIndex {
  /** The mark of the index. */
  mark: string;
  /** Turns the files of the commit into those of the write; null if it makes or deletes any. */
  patch: string | null;
}

export function createTreeSwitcher(): TreeSwitcher {
  /** The clean index that was found or made last. */
  let known: { mark: string; commit: string } | null = null;

  const prepare: TreeSwitcher['prepare'] = async (checkout, base, edits) => {
    const mark = await fileMark(indexPath(checkout));
    if (known?.mark !== mark || known.commit !== base) {
      if (!(await isClean(checkout, base))) return null;
      known = { mark, commit: base };
    }
    return { mark, patch: await patchFor(checkout, base, edits) };
  };

  return {
    prepare,
    switch: async (held, { clean, from, to, files }) => {
      const isUnchanged = clean !== null && (await fileMark(indexPath(held))) === clean.mark;
      const isPatched = isUnchanged && clean.patch !== null && (await applyPatch(held, clean.patch, files));
      if (!isPatched) await switchTree(held, from, to);
      if (isUnchanged) known = { mark: await fileMark(indexPath(held)), commit: to };
    },
  };
}

/** An entry of a plain file that is not in conflict, and that no sparse checkout leaves out. */
const PLAIN_ENTRY = /^H 100644 /;

/**
 * Whether the index has exactly the entries of a commit, and in the desired-state folder only those of plain files. Also
 * false if git fails, whose own way to switch then reports why.
 */
async function isClean({ repository, launcher }: Checkout, commit: string): Promise<boolean> {
  const { context, prefix } = repository;
  try {
    if ((await launcher.run(context, commands.stagedChanges(commit))) !== '') return false;
    const entries = await launcher.run(context, commands.entryLines(prefix));
    return entries
      .split('\n')
      .slice(0, -1)
      .every((line) => PLAIN_ENTRY.test(line));
  } catch (error) {
    if (error instanceof GitFailure) return false;
    throw error;
  }
}

/**
 * Returns a patch that names only the ids of contents. git then takes the new content from the object of that id, and
 * refuses unless the file on disk has the old one (`git apply` with full index lines for binary files).
 */
async function patchFor(
  { repository, objects }: Checkout,
  base: string,
  edits: readonly FileEdit[],
): Promise<string | null> {
  const changes = await mapConcurrently(FILE_CONCURRENCY, edits, async ({ path, text }) => {
    const full = posix.join(repository.prefix, path);
    const old = text === null ? null : await objects.info(`${base}:${full}`);
    if (text === null || old?.type !== 'blob') return null;
    const names = [quote(`a/${full}`), quote(`b/${full}`)].join(' ');
    const ids = `${old.id}..${blobIdLike(old.id, text)}`;
    return `diff --git ${names}\nindex ${ids} 100644\nBinary files differ\n`;
  });
  return changes.length === 0 || changes.includes(null) ? null : changes.join('');
}

/**
 * Applies a patch to index and files. Resolves to false if git refused it and has changed nothing: a file is not exactly
 * as in the index, or git does not like a setting that only this command reads.
 */
async function applyPatch(held: HeldCheckout, patch: string, files: SwitchNote['files']): Promise<boolean> {
  const { context, gitFolder } = held.repository;
  await writeFile(patchPath(gitFolder), patch, { mode: 0o600 });
  try {
    await changeIndex(held, commands.applyPatch(patchPath(gitFolder)));
    return true;
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    const areSame = await mapConcurrently(
      FILE_CONCURRENCY,
      Object.entries(files),
      async ([path, mark]) => (await fileMark(`${context.folder}/${path}`)) === mark,
    );
    // git replaces the files before the index. If it has begun to, the switch must be undone.
    if (areSame.includes(false)) throw error;
    return false;
  }
}
