import type { Head, Reader, SourceOrigin } from '../../source/source.ts';
import type { StoreState } from '../../store/objects/port.ts';
import type { PassDependencies } from './dependencies.ts';

/** Whether no other manager has claimed a head, applied a revision or seeded the store between the two states. */
export function isCurrent(before: StoreState, now: StoreState): boolean {
  return (
    before.sequence === now.sequence &&
    before.applied?.revision === now.applied?.revision &&
    // A revision can be applied twice, the second time with what was refused at first.
    before.applied?.at === now.applied?.at &&
    before.rules === now.rules &&
    now.seededFrom !== null
  );
}

/** The head of the branch, and the store's state from before it was read, or why the pass must fail. */
export type StateAndHead = { head: Head } & ({ ok: true; state: StoreState } | { ok: false; error: unknown });

/**
 * Reads the store's state and then the head of the branch, in this order: a claim from that state can then not bring an
 * older revision back. `before` is the state that this manager read last; `rules` are those by which files are read.
 *
 * A failure of the store or of origin is returned together with the head instead of thrown, since the status shows the
 * head even then. Rejects as `unavailable` if the head cannot be read.
 */
export async function readStateAndHead(
  dependencies: PassDependencies,
  before: StoreState | null,
  rules: string,
): Promise<StateAndHead> {
  const { follower, reader, origin } = dependencies;
  try {
    const state = await follower.state();
    const head = await readHeadAfter(state, before, reader, origin);
    const isApplied = head.revision === state.applied?.revision && state.rules === rules;
    return { ok: true, state, head: isApplied ? head : await headAtOrigin(head, dependencies) };
  } catch (error) {
    return { ok: false, error, head: await reader.head() };
  }
}

/**
 * Reads a head that is not older than what another manager has applied or refused. The last fetch can be older than
 * that, so origin is fetched first if another manager has claimed, applied, seeded or refused since. If it cannot be reached, only a head at exactly that revision is accepted.
 */
async function readHeadAfter(
  state: StoreState,
  before: StoreState | null,
  reader: Reader,
  origin: SourceOrigin | null,
): Promise<Head> {
  const isAhead = before === null || !isCurrent(before, state);
  const latest = isAhead ? state.applied?.revision : state.attempted?.revision;
  if (origin === null || (!isAhead && latest === before.attempted?.revision)) return reader.head();
  const failure = await origin.refresh().then(
    () => null,
    (error: unknown) => ({ error }),
  );
  const head = await reader.head();
  if (failure !== null && head.revision !== latest) throw failure.error;
  return head;
}

/**
 * Returns the head from which something new can be applied. Until this process has reached origin it does not know which
 * ids other managers have given meanwhile, so origin is fetched first. Rejects if it cannot be reached.
 */
async function headAtOrigin(head: Head, { origin, record, reader }: PassDependencies): Promise<Head> {
  if (origin === null || record.isCurrent()) return head;
  await origin.refresh();
  return reader.head();
}
