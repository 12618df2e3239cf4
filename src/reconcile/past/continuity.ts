import type { Reader } from '../../source/source.ts';
import type { HistoryPoint, StoreState } from '../../store/store.ts';

/**
 * What a head whose history the store did not follow means for the counters that the store has. `keep`: only names
 * without a counter get a floor. `raise`: every counter gets it, too; ids stay until their next change. `retake`: what
 * the store has was never given to devices of this history, so that objects whose names are in it take a new id at
 * once.
 */
export type Breach = 'keep' | 'raise' | 'retake';

/** A head, and what this process has seen before it. */
export interface HeadInHistory {
  reader: Reader;
  state: StoreState;
  /** What is followed now; its revision is the head. */
  now: HistoryPoint & { revision: string };
  /** Heads that this process took for followed, or began itself with a first commit. */
  seen: readonly string[];
  /** When this process first found the branch without a commit, Unix milliseconds; null where it never has. */
  emptySince: number | null;
}

/**
 * Tells whether the store has followed the history of a head from its beginning, so that a name without a counter is
 * new; null where it has, and for a store that was never seeded. When in doubt it has not: an id that is too high does
 * no harm. Rejects as `unavailable`.
 */
export async function findBreach(context: HeadInHistory): Promise<Breach | null> {
  const { state, now } = context;
  if (state.seededFrom === null) return null;
  const { line, source } = state.seededFrom;
  const known = [...context.seen, state.applied?.revision, state.seededFrom.revision].filter(
    (one) => one != null,
  );
  const isSameLine = line === now.line;
  if (known.length === 0) return isSameLine && (await hasBegunHere(context)) ? null : 'raise';
  const relation = await relationTo(known, now.revision, context.reader);
  if (!isSameLine) return relation === 'none' ? 'retake' : 'raise';
  if (relation === 'none') return 'raise';
  // A copy of the repository that was older, or another line of it, says nothing of the commits that it did not have.
  return relation === 'straight' && source === now.source ? null : 'keep';
}

type Relation = 'straight' | 'diverged' | 'none';

/** `straight`: the head descends from a known commit, or is one that a known commit descends from. */
async function relationTo(known: readonly string[], head: string, reader: Reader): Promise<Relation> {
  if (known.includes(head)) return 'straight';
  let relation: Relation = 'none';
  for (const one of new Set(known)) {
    const common = await reader.commonAncestor(one, head);
    if (common === one || common === head) return 'straight';
    if (common !== null) relation = 'diverged';
  }
  return relation;
}

/** Whether the head is the first commit of all, made after the branch was seen without one. */
async function hasBegunHere({ reader, now, emptySince }: HeadInHistory): Promise<boolean> {
  if (emptySince === null) return false;
  const { time, authored, parents } = await reader.commit(now.revision);
  return parents.length === 0 && Math.min(time, authored) >= Math.floor(emptySince / 1000);
}
