import { classifyPath } from '../desired/file.ts';
import { changesOf, type ReadChange } from '../history/changes.ts';
import type { FileDelta, FolderCommit } from '../history/commit.ts';
import { commitEntry } from '../history/entry.ts';
import type { AppDefaults } from '../protocol/app.ts';
import { keyOf } from '../protocol/name.ts';
import { type Leaf, leafName, leavesBetween } from './leaves.ts';
import type { Blame, Past } from './rollback.ts';

const PAGE = 500;

/** One commit's change of one object. */
export interface LaterChange {
  /** Full commit id. */
  by: string;
  actor: string;
  /** The names of the leaves that differ; null if the object came, went, or cannot be compared. */
  leaves: ReadonlySet<string> | null;
}

/**
 * Resolves to the changes of these objects, by key, by the commits from `from` back to `until`, newest first. `until` itself
 * is left out, with all that it descends from.
 */
export async function laterChanges(
  past: Past,
  { from, until, keys }: { from: string; until: string; keys: ReadonlySet<string> },
  defaults: AppDefaults,
): Promise<Map<string, LaterChange[]>> {
  const found = new Map<string, LaterChange[]>();
  for await (const commit of commitsBetween(past, from, until)) {
    const files = commit.files.filter((file) => keys.has(keyAt(file) ?? ''));
    for (const { change, step } of await changesOf(files, past.blob, defaults)) {
      const key = keyOf(change.kind, change.name);
      const { actor } = commitEntry(commit, null);
      const later = { by: commit.revision, actor: actor.name, leaves: leavesOf(step) };
      found.set(key, [...(found.get(key) ?? []), later]);
    }
  }
  return found;
}

/** Yields the commits of the first-parent line, newest first. */
export async function* commitsBetween(
  past: Past,
  from: string,
  until: string | null,
): AsyncGenerator<FolderCommit> {
  let next: string | null = from;
  let skipsFirst = false;
  while (next !== null) {
    const page: Awaited<ReturnType<Past['log']>> = await past.log({
      from: next,
      until,
      limit: PAGE,
      skipsFirst,
    });
    yield* page.commits;
    ({ next } = page);
    skipsFirst = true;
  }
}

/** Returns the key of the object to which a file belongs; null if it belongs to none. */
export function keyAt({ path }: Pick<FileDelta, 'path'>): string | null {
  const role = classifyPath(path);
  return role.role === 'object' ? keyOf(role.kind, role.name) : null;
}

/** Returns who changed a leaf last, or the whole object if `leaf` is null. */
export function blameOf(object: string, leaf: Leaf | null, changes: readonly LaterChange[]): Blame[] {
  const name = leaf === null ? null : leafName(leaf);
  const last = changes.find(({ leaves }) => name === null || leaves === null || leaves.has(name));
  return last === undefined ? [] : [{ object, field: name, by: last.by, actor: last.actor }];
}

function leavesOf(step: ReadChange['step']): ReadonlySet<string> | null {
  if (step === null || step.before === null || step.after === null) return null;
  return new Set(leavesBetween(step.before, step.after).map(leafName));
}
