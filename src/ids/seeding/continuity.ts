import type { HistoryPoint, IdState } from '../id-store.ts';
import type { IdsReader } from '../ids-reader.ts';

/** A head, and what is known about the history before it. */
export interface HeadInHistory {
  reader: IdsReader;
  state: IdState;
  head: HistoryPoint & { revision: string };
  /** Revisions that this process has followed: earlier heads, and first commits that it made itself. */
  followed: readonly string[];
  /** Whether an earlier head of this process was checked. Its repository is then known, whichever the store names. */
  isKnownSource: boolean;
  /** When this process first found the branch without a commit, in Unix milliseconds; null if it never did. */
  emptySince: number | null;
}

/**
 * What a history means that the store has not followed. `related`: its devices can have the ids of the store. `foreign`: it
 * is of another line and has no commit in common, so they were never given those.
 */
export type Discontinuity = 'related' | 'foreign';

/**
 * Checks whether the store has followed the head's history from its beginning, so that a name without a counter is
 * certainly new (decision 9, "Which history a store has followed"). Resolves to null if it has, or if the store was
 * never seeded. When in doubt the history was not followed: an id that is too high does no harm. Rejects as `unavailable`.
 */
export async function findDiscontinuity(context: HeadInHistory): Promise<Discontinuity | null> {
  const { reader, state, head } = context;
  if (state.seededFrom === null) return null;
  const isSameLine = state.seededFrom.line === head.line;
  const isSameSource = context.isKnownSource || state.seededFrom.source === head.source;
  const followed = [...context.followed, state.applied?.revision, state.seededFrom.revision].filter(
    (revision) => revision != null,
  );
  if (followed.length === 0) return isSameLine && (await isNewHistory(context)) ? null : 'related';
  const relation = await relationTo(followed, head.revision, reader);
  if (!isSameLine) return relation === 'unrelated' ? 'foreign' : 'related';
  // An older copy of the repository, or a branch that has diverged, lacked commits that this history has.
  return relation === 'linear' && isSameSource ? null : 'related';
}

/** `linear`: a followed revision is the head, or an ancestor or a descendant of it. `diverged`: they share an ancestor. */
type Relation = 'linear' | 'diverged' | 'unrelated';

async function relationTo(followed: readonly string[], head: string, reader: IdsReader): Promise<Relation> {
  if (followed.includes(head)) return 'linear';
  let relation: Relation = 'unrelated';
  for (const revision of new Set(followed)) {
    const common = await reader.commonAncestor(revision, head);
    if (common === revision || common === head) return 'linear';
    if (common !== null) relation = 'diverged';
  }
  return relation;
}

/**
 * Whether the head is a commit without parents that was made after this process found the branch empty. An amended commit
 * has a new committer time, so its author time counts as well.
 */
async function isNewHistory({ reader, head, emptySince }: HeadInHistory): Promise<boolean> {
  if (emptySince === null) return false;
  const { time, authored, parents } = await reader.commit(head.revision);
  return parents.length === 0 && Math.min(time, authored) >= Math.floor(emptySince / 1000);
}
