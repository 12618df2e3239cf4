import { withRest } from '../../async/pace.ts';
import type { FolderLog } from '../../history/history.ts';
import type { Entry, HistoryState } from '../../store/entry.ts';
import type { HistoryDependencies } from './dependencies.ts';
import { entryOfCommit, inRepository, readCommit } from './entries.ts';
import { isIndexed } from './range.ts';

/** Commits that are indexed at once; who reads the history, or ends the manager, waits for them. */
const PAGE = 25;
/** The changes after which a page ends: it is written only if there is room for more than so many. */
const MOST_CHANGES = 5000;

/**
 * Indexes some of the commits from before the store, newest first, and stores where to go on. Resolves to whether there can be
 * more.
 */
export async function indexOlder(state: HistoryState, dependencies: HistoryDependencies): Promise<boolean> {
  const { store, forge, folder } = dependencies;
  if (state.fill === null) return false;
  await store.requireRoom('older');
  const page = await readPage(state.fill, dependencies);
  const entries: Entry[] = [];
  for (const commit of page?.commits ?? []) {
    if (await isIndexed(store, commit)) continue;
    const entry = entryOfCommit(await withRest(() => readCommit(commit, dependencies)), forge);
    const changes = inRepository(entry.changes, folder);
    entries.push({ ...entry, n: state.oldest - 1 - entries.length, idSequence: null, changes });
  }
  const from = page?.next ?? null;
  const next: HistoryState = {
    ...state,
    oldest: state.oldest - entries.length,
    fill: from === null ? null : { from, skipsFirst: true },
    isCut: page?.isCut ?? true,
    until: entries.at(-1)?.at ?? state.until,
  };
  await store.addEntries({ expected: state, next, entries, supersedes: false });
  return true;
}

/** Resolves to null if the commit is gone, as after a rewrite and a clean-up. */
async function readPage(
  { from, skipsFirst }: NonNullable<HistoryState['fill']>,
  { reader }: HistoryDependencies,
): Promise<FolderLog | null> {
  if ((await reader.resolve(from)) !== from) return null;
  return shortened(await reader.log({ from, until: null, limit: PAGE, skipsFirst }));
}

/** Leaves the rest of a page to the next one once its commits have very many changes. */
function shortened(page: FolderLog): FolderLog {
  let changes = 0;
  const end = page.commits.findIndex(({ files }) => {
    changes += files.length;
    return changes >= MOST_CHANGES;
  });
  const last = page.commits[end];
  if (last === undefined || end === page.commits.length - 1) return page;
  return { commits: page.commits.slice(0, end + 1), next: last.revision, isCut: false };
}
