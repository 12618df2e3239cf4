import type { Head, IdsRecord, Reader, SourceOrigin } from '../../source/source.ts';
import type { StoreProgress, StoreState } from '../../store/store.ts';

/** Whether nobody else has claimed, applied or seeded since. */
export function isCurrent(known: StoreState, now: StoreState): boolean {
  return (
    known.sequence === now.sequence &&
    known.applied?.revision === now.applied?.revision &&
    // A revision can be applied twice, the second time with what was refused at first.
    known.applied?.at === now.applied?.at &&
    known.rules === now.rules &&
    now.seeded
  );
}

/** What the store says, and then where the branch is. */
export interface BothLooks {
  /** Throws where the store could not be read. */
  state(): StoreState;
  head: Head;
}

/** Where is looked. */
export interface LookParts {
  store: StoreProgress;
  reader: Reader;
  origin: SourceOrigin | null;
  record: IdsRecord;
}

/**
 * Reads the store's state, and after it the head of the branch: whoever claims from that state brings no older revision
 * back. `known` is what was known of the state; by `rules` files are read. Status tells the head also when the store is
 * away, so the store's failure waits until the head is known.
 */
export async function lookAtBoth(
  parts: LookParts,
  known: StoreState | null,
  rules: string,
): Promise<BothLooks> {
  const { store, reader, origin } = parts;
  try {
    const state = await store.state();
    const found = await readHeadAfter(state, known, reader, origin);
    const isApplied = found.revision === state.applied?.revision && state.rules === rules;
    return { state: () => state, head: isApplied ? found : await headAtOrigin(found, parts) };
  } catch (error) {
    const head = await reader.head();
    return {
      head,
      state: () => {
        throw error;
      },
    };
  }
}

/**
 * What was fetched before can be older than what another manager has applied, or refused: origin is asked first, and where
 * it cannot be, only that revision itself will do.
 */
async function readHeadAfter(
  state: StoreState,
  known: StoreState | null,
  reader: Reader,
  origin: SourceOrigin | null,
): Promise<Head> {
  const isAhead = known === null || !isCurrent(known, state);
  const wanted = isAhead ? state.applied?.revision : state.attempted?.revision;
  if (origin === null || (!isAhead && wanted === known.attempted?.revision)) return reader.head();
  const failure = await origin.refresh().then(
    () => null,
    (error: unknown) => ({ error }),
  );
  const head = await reader.head();
  if (failure !== null && head.revision !== wanted) throw failure.error;
  return head;
}

/**
 * The head that something new may be applied of: before this process has reached origin it knows nothing of the ids
 * that others gave meanwhile, so origin is asked. Rejects where it cannot be.
 */
async function headAtOrigin(found: Head, { origin, record, reader }: LookParts): Promise<Head> {
  if (origin === null || record.isCurrent()) return found;
  await origin.refresh();
  return reader.head();
}
