import type { FolderCommit } from '../../history/commit.ts';
import type { Reader } from '../../source/source.ts';
import { type EntryQuery, keys } from '../../store/entry.ts';
import type { HistoryStore } from '../../store/history/port.ts';

/** Commits that are read at once. */
const PAGE = 200;
/** The most commits that are indexed of a branch that has no commit in common with the one before. */
const MOST_UNRELATED = 1000;

/** How a branch got from one revision to another. */
export interface Range {
  /** The commits that it brought, oldest first. */
  commits: FolderCommit[];
  /** Whether the new revision does not descend from the old one. */
  isRewritten: boolean;
}

/** Reads the commits by which the branch got from `from` to `to`, two different revisions; `from` may be gone. */
export async function readRange(reader: Reader, from: string, to: string): Promise<Range> {
  if (await reader.isAncestor(from, to))
    return { commits: await commitsSince(reader, from, to), isRewritten: false };
  const common = await reader.commonAncestor(from, to);
  return { commits: common === to ? [] : await commitsSince(reader, common, to), isRewritten: true };
}

async function commitsSince(reader: Reader, until: string | null, to: string): Promise<FolderCommit[]> {
  const commits: FolderCommit[] = [];
  let at: string | null = to;
  for (let skipsFirst = false; at !== null; skipsFirst = true) {
    const page = await reader.log({ from: at, until, limit: PAGE, skipsFirst });
    commits.push(...page.commits);
    const isEnough = until === null && commits.length >= MOST_UNRELATED;
    at = isEnough ? null : page.next;
  }
  return commits.reverse();
}

/** Resolves to whether the history has an entry of this commit, of one of these kinds. */
export async function isIndexed(
  store: HistoryStore,
  { revision }: FolderCommit,
  kinds: NonNullable<EntryQuery['kinds']> = ['commit'],
): Promise<boolean> {
  const { total } = await store.entries(withKeys([keys.revision(revision)], kinds), null, 1);
  return total > 0;
}

/** Selects entries of these kinds that have one of these keys. */
export function withKeys(list: readonly string[], kinds: EntryQuery['kinds'] = null): EntryQuery {
  return { keys: [list], kinds, since: null, until: null, text: null };
}
