import { classifyPath } from '../desired/file.ts';
import { changesOf, type ReadChange } from '../history/changes.ts';
import type { FileDelta, FolderCommit } from '../history/commit.ts';
import { commitEntry } from '../history/entry.ts';
import type { History } from '../history/history.ts';
import type { AppDefaults } from '../protocol/app.ts';
import { keyOf } from '../protocol/name.ts';
import { type Leaf, leafName, leavesBetween } from './leaves.ts';
import type { Blame } from './rollback.ts';

const PAGE = 500;

/** Leaves of objects, by the keys of these; null stands for the object as a whole. */
export type LeavesByObject = ReadonlyMap<string, readonly (Leaf | null)[]>;

/** Where changes are looked for: the commits from `from` back to `until`, without it and all that it descends from. */
export interface Range {
  from: string;
  until: string;
  /** Asked before each commit; true ends the search. */
  isLate: () => boolean;
}

/** The newest changes of leaves. */
export interface NewestChanges {
  /** One for each leaf that was changed, in the order of the leaves. */
  changes: Blame[];
  /** Whether the search came to its end; if not, changes may be missing. */
  isComplete: boolean;
}

/**
 * Resolves to the newest commit that changed each of these leaves. Moves and comments change none. Reads no further back than
 * the last of them.
 */
export async function newestChanges(
  past: History,
  leaves: LeavesByObject,
  { from, until, isLate }: Range,
  defaults: AppDefaults,
): Promise<NewestChanges> {
  const found: Blame[] = [];
  const open = new Map([...leaves].map(([key, own]) => [key, new Set(own.map(nameOf))]));
  let isComplete = true;
  if (open.size > 0)
    for await (const commit of commitsBetween(past, from, until)) {
      isComplete = !isLate();
      if (!isComplete) break;
      found.push(...(await takeChanged(open, commit, past, defaults)));
      if (open.size === 0) break;
    }
  const order = [...leaves].flatMap(([key, own]) => own.map((leaf) => idOf(key, nameOf(leaf))));
  const byId = new Map(found.map((blame) => [idOf(blame.object, blame.field), blame]));
  return { changes: order.flatMap((id) => byId.get(id) ?? []), isComplete };
}

/** Takes the names of the leaves that a commit changed out of `open`, and resolves to them. */
async function takeChanged(
  open: Map<string, Set<string | null>>,
  commit: FolderCommit,
  past: History,
  defaults: AppDefaults,
): Promise<Blame[]> {
  const found: Blame[] = [];
  const files = commit.files.filter((file) => open.has(keyAt(file) ?? ''));
  for (const read of await changesOf(files, past.blob, defaults)) {
    const object = keyOf(read.change.kind, read.change.name);
    const names = open.get(object) ?? new Set();
    for (const field of changedAmong([...names], read)) {
      found.push({ object, field, by: commit.revision, actor: commitEntry(commit, null).actor.name });
      names.delete(field);
    }
    if (names.size === 0) open.delete(object);
  }
  return found;
}

/** Yields the commits of the first-parent line, newest first. */
export async function* commitsBetween(
  past: History,
  from: string,
  until: string | null,
): AsyncGenerator<FolderCommit> {
  let next: string | null = from;
  let skipsFirst = false;
  while (next !== null) {
    const page: Awaited<ReturnType<History['log']>> = await past.log({
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

/** Returns those leaves that a commit changed: all of them if the object came, went, or cannot be compared. */
function changedAmong(
  names: readonly (string | null)[],
  { step, isMove }: ReadChange,
): readonly (string | null)[] {
  if (isMove) return [];
  if (step === null || step.before === null || step.after === null) return names;
  const changed = new Set(leavesBetween(step.before, step.after).map(leafName));
  return names.filter((name) => name === null || changed.has(name));
}

function nameOf(leaf: Leaf | null): string | null {
  return leaf === null ? null : leafName(leaf);
}

function idOf(object: string, field: string | null): string {
  return JSON.stringify([object, field]);
}
