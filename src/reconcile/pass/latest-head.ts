import type { Head, Reader, SourceOrigin } from '../../source/source.ts';
import type { StoreState } from '../../store/store.ts';
import type { PassDependencies } from './dependencies.ts';

/** Whether no other manager has claimed, applied or seeded since. */
export function isCurrent(known: StoreState, now: StoreState): boolean {
  return (
    known.sequence === now.sequence &&
    known.applied?.revision === now.applied?.revision &&
    // A revision can be applied twice, the second time with what was refused at first.
    known.applied?.at === now.applied?.at &&
    known.rules === now.rules &&
    now.seededFrom !== null
  );
}

/** Where the branch is, and what the store said before that; or why it said nothing. */
export type BothLooks = { head: Head } & ({ ok: true; state: StoreState } | { ok: false; error: unknown });

/**
 * Reads the store's state, and after it the head of the branch, so that a claim from that state brings no older revision
 * back. `known` is the state as it was known before; `rules` are those by which files are read.
 *
 * The status names the head also while the store is unavailable, so a failure of the store, or of origin, is returned
 * with the head and not thrown. Rejects as `unavailable` if the head cannot be read either.
 */
export async function lookAtBoth(
  dependencies: PassDependencies,
  known: StoreState | null,
  rules: string,
): Promise<BothLooks> {
  const { store, reader, origin } = dependencies;
  try {
    const state = await store.state();
    const found = await readHeadAfter(state, known, reader, origin);
    const isApplied = found.revision === state.applied?.revision && state.rules === rules;
    return { ok: true, state, head: isApplied ? found : await headAtOrigin(found, dependencies) };
  } catch (error) {
    return { ok: false, error, head: await reader.head() };
  }
}

/**
 * What was fetched before can be older than what another manager has applied, or refused: origin is asked first, and
 * where it cannot be, only that revision itself will do.
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
async function headAtOrigin(found: Head, { origin, record, reader }: PassDependencies): Promise<Head> {
  if (origin === null || record.isCurrent()) return found;
  await origin.refresh();
  return reader.head();
}
