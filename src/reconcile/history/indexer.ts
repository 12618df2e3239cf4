import { Queue } from '../../async/queue.ts';
import { createSingleFlight } from '../../async/single-flight.ts';
import { HoldfastError } from '../../errors.ts';
import type { Act } from '../../store/act.ts';
import { type HistoryState, keys } from '../../store/entry.ts';
import { entriesOfApply } from './apply-entries.ts';
import type { HistoryDependencies } from './dependencies.ts';
import {
  entryChange,
  entryOfCommit,
  inRepository,
  type NewEntry,
  operationEntry,
  readCommit,
} from './entries.ts';
import { indexOlder } from './fill.ts';
import { withKeys } from './range.ts';

/**
 * Makes the entries of the history from acts and from git: in the order in which things were applied, and of older commits in
 * the background. It remembers only what is in the store, so that it can be killed at any time, and that several managers
 * can index at the same time.
 */
export interface Indexer {
  /** Indexes all acts, and lets the older history be indexed in the background. Never rejects. */
  catchUp(): Promise<void>;
  /** Adds an entry of a revision that was refused as a whole, once. Never rejects. */
  addRefusal(revision: string): Promise<void>;
  /** Whether a page of the older history is being indexed, for which what is newer waits. */
  isFilling(): boolean;
  /** Why not everything is indexed, and since when; null if the last attempts succeeded. */
  problem(): IndexProblem | null;
  /** Waits for what is being indexed, and indexes no more. */
  close(): Promise<void>;
}

type Part = 'new' | 'older';

/** What the last attempt to index failed for; `since` is when the first of these in a row failed, in Unix milliseconds. */
export interface IndexProblem {
  message: string;
  since: number;
}

const NEW: HistoryState = {
  act: 0,
  revision: null,
  branch: null,
  newest: 0,
  oldest: 1,
  fill: null,
  isCut: false,
  until: null,
};

export function createIndexer(dependencies: HistoryDependencies): Indexer {
  const steps = createSteps(dependencies);
  let isFilling = false;

  const indexing = createSingleFlight(() =>
    steps.repeat('new', (state) => indexNextAct(state, dependencies)),
  );
  const fill = async (state: HistoryState): Promise<boolean> => {
    isFilling = true;
    return indexOlder(state, dependencies).finally(() => {
      isFilling = false;
    });
  };
  const filling = createSingleFlight(() => steps.repeat('older', fill));
  return {
    catchUp: async () => {
      await indexing.request();
      if (!steps.areOver()) void filling.request();
    },
    addRefusal: async (revision) => {
      await indexing.request();
      await steps.repeat('new', (state) => indexRefused(revision, state, dependencies));
    },
    isFilling: () => isFilling,
    problem: steps.problem,
    close: async () => {
      const idle = steps.end();
      await Promise.all([indexing.idle(), filling.idle()]);
      await idle;
    },
  };
}

/** The steps of indexing: one at a time, each of which begins with what the store has then. */
interface Steps {
  /** Runs steps until one resolves to false: nothing is left to do. Never rejects; a failure is the `problem` of this part. */
  repeat(part: Part, run: (state: HistoryState) => Promise<boolean>): Promise<void>;
  problem(): IndexProblem | null;
  areOver(): boolean;
  /** Lets no step begin any more; resolves when the last one has ended. */
  end(): Promise<void>;
}

function createSteps(dependencies: HistoryDependencies): Steps {
  const { store, onFailure, onRecovered, faults, now } = dependencies;
  const queue = new Queue();
  const problems = trackProblems(now);
  let areOver = false;

  const step = (run: (state: HistoryState) => Promise<boolean>): Promise<boolean> =>
    queue.run(async () => {
      if (areOver) return false;
      const state = await store.historyState();
      const isMore = state === null ? await begin(dependencies) : await run(state);
      if (isMore) faults.pass('entries-added');
      return isMore;
    });

  return {
    repeat: async (part, run) => {
      try {
        while (await step(run));
        if (problems.clear(part) && problems.current() === null) onRecovered();
      } catch (error) {
        if (areOver) return;
        problems.set(part, error);
        onFailure(error);
      }
    },
    problem: problems.current,
    areOver: () => areOver,
    end: async () => {
      areOver = true;
      await queue.run(() => undefined);
    },
  };
}

/** Remembers what new commits and older ones are not indexed for. */
function trackProblems(now: () => number) {
  const problems = new Map<Part, IndexProblem>();
  return {
    set: (part: Part, error: unknown): void => {
      const message = error instanceof HoldfastError ? error.message : 'an internal error; see the log';
      problems.set(part, { message, since: problems.get(part)?.since ?? now() });
    },
    /** Returns whether there was one. */
    clear: (part: Part): boolean => problems.delete(part),
    current: (): IndexProblem | null => problems.get('new') ?? problems.get('older') ?? null,
  };
}

/** Stores where the history begins: at what was applied before the first act. */
async function begin({ store, progress }: HistoryDependencies): Promise<boolean> {
  let act = await store.nextAct(0);
  while (act !== null && act.applied === null) act = await store.nextAct(act.number);
  const { applied } = await progress.state();
  const revision = act === null ? (applied?.revision ?? null) : (act.applied?.before ?? null);
  const fill = revision === null ? null : { from: revision, skipsFirst: false };
  await store.addEntries({
    expected: null,
    next: { ...NEW, revision, fill },
    entries: [],
    supersedes: false,
  });
  return true;
}

/** Indexes the next act; resolves to whether there was one. */
async function indexNextAct(state: HistoryState, dependencies: HistoryDependencies): Promise<boolean> {
  const { store, memory } = dependencies;
  const act = await store.nextAct(state.act);
  if (act === null) return false;
  await store.requireRoom('new');
  const { applied, operation } = act;
  if (operation !== null) {
    const groups = [...(memory()?.applied.groupsListing(operation.name ?? '') ?? [])].sort();
    await append(state, act, {}, [operationEntry(act, operation, groups)], dependencies);
  }
  if (applied !== null) await indexApply(state, act, applied, dependencies);
  return true;
}

async function indexApply(
  state: HistoryState,
  act: Act,
  applied: NonNullable<Act['applied']>,
  dependencies: HistoryDependencies,
): Promise<void> {
  const { entries, fill } = await entriesOfApply(act, applied, state, dependencies);
  const { revision, branch } = applied;
  await append(state, act, { revision, branch: branch ?? state.branch, fill }, entries, dependencies);
}

/** Resolves to whether to try again, since another manager was faster. */
async function indexRefused(
  revision: string,
  state: HistoryState,
  dependencies: HistoryDependencies,
): Promise<boolean> {
  const { store, reader, forge } = dependencies;
  const known = await store.entries(withKeys([keys.state('refused')], ['refused']), null, 1);
  if (known.entries[0]?.revision === revision) return false;
  await store.requireRoom('new');
  const { commits } = await reader.log({ from: revision, until: null, limit: 1, skipsFirst: false });
  const [commit] = commits;
  if (commit === undefined) return false;
  const read = await readCommit(commit, dependencies);
  const changes = read.changes.map((change) => entryChange(change, {}));
  const entry: NewEntry = {
    ...entryOfCommit(read, forge),
    kind: 'refused',
    state: 'refused',
    revision,
    changes,
  };
  return !(await append(state, null, {}, [entry], dependencies));
}

/** Adds entries of an act (null: of none) that follow the newest one. Resolves to false, and does nothing, if another manager was faster. */
async function append(
  state: HistoryState,
  act: Act | null,
  changes: Partial<HistoryState>,
  entries: readonly NewEntry[],
  { store, folder }: HistoryDependencies,
): Promise<boolean> {
  const numbered = entries.map((entry, index) => ({
    ...entry,
    n: state.newest + 1 + index,
    idSequence: act?.idSequence ?? null,
    changes: inRepository(entry.changes, folder),
  }));
  const newest = state.newest + entries.length;
  const next = { ...state, ...changes, act: act?.number ?? state.act, newest };
  const supersedes = act !== null && act.applied !== null;
  return store.addEntries({ expected: state, next, entries: numbered, supersedes });
}
