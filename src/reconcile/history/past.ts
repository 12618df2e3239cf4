import { posix } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, type Limiter } from '../../async/limiter.ts';
import type { TreeEntry } from '../../desired/entry.ts';
import { classifyPath } from '../../desired/file.ts';
import { HoldfastError } from '../../errors.ts';
import { changesOf } from '../../history/changes.ts';
import type { FileDelta } from '../../history/commit.ts';
import { type Actor, viaOf } from '../../history/entry.ts';
import { notShown, readFileDiff } from '../../history/file-diff.ts';
import { stepRecord } from '../../plan/records.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import type { Kind } from '../../protocol/name.ts';
import type { FileDiff, StepRecord } from '../../protocol/plan.ts';
import { findRevision } from '../../source/find-revision.ts';
import type { Reader, SourceOrigin } from '../../source/source.ts';
import {
  type EntryPage,
  type EntryQuery,
  type HistoryState,
  keys,
  type ListedEntry,
} from '../../store/entry.ts';
import type { HistoryStore } from '../../store/history/port.ts';
import { type AppliedReads, createAppliedReads } from './applied-reads.ts';
import type { Indexer, IndexProblem } from './indexer.ts';
import { type OperationPage, readOperations } from './operations.ts';
import { withKeys } from './range.ts';

/** Values before and after, read from git; the first ones if there are very many. */
interface Difference {
  steps: StepRecord[];
  stepsTotal: number;
  files: FileDiff[];
  filesTotal: number;
}

/** One entry, with the values that its commit changed. */
export interface Detail extends Difference {
  entry: ListedEntry;
  /** The whole message of the commit; null if git has lost it, and for what is no commit. */
  message: string | null;
  /** Whether git has lost the commit, after a rewrite and a clean-up: then there are no values. */
  isGone: boolean;
}

/** A line of an object's file, and the commit that wrote it; times are Unix milliseconds. */
interface Blame {
  revision: string;
  /** Inside the repository. */
  path: string;
  lines: { text: string; revision: string; actor: Actor; at: number }[];
}

/** What the history is read with. */
export interface PastDependencies {
  reader: Reader;
  origin: SourceOrigin | null;
  store: HistoryStore;
  indexer: Pick<Indexer, 'catchUp' | 'isFilling' | 'problem'>;
  defaults: AppDefaults;
  /** Path of the desired-state folder inside the repository. */
  folder: string;
}

/** Reads the history: entries from the store, values from git. */
export interface Past extends AppliedReads {
  /**
   * See `HistoryStore.entries`; what was applied before the call is indexed first, unless that has to wait for a page of the older
   * history for more than 50 ms. `isCurrent`: whether every act is indexed.
   */
  list(
    query: EntryQuery,
    before: number | null,
    limit: number,
  ): Promise<EntryPage & { state: HistoryState | null; isCurrent: boolean }>;
  /** See `readOperations`; those that were acknowledged before the call are indexed first. */
  operations(before: number | null, limit: number): Promise<OperationPage>;
  /**
   * Resolves to the full id of a revision (`findRevision`), also of one that git does not have any more; null if there is
   * none.
   */
  revision(name: string): Promise<string | null>;
  /** Resolves to the entry of this number; null if there is none. */
  byNumber(n: number): Promise<Detail | null>;
  /** Resolves to the newest entry of this revision, that of the commit first; null if there is none. */
  byRevision(revision: string): Promise<Detail | null>;
  /** See `Indexer.problem`. */
  problem(): IndexProblem | null;
  /** Compares two revisions. */
  diff(from: string, to: string): Promise<Difference>;
  /** Resolves to null if the object has no file at this revision. */
  blame(kind: Kind, name: string, revision: string): Promise<Blame | null>;
}

/** How many steps and files with their texts a reply has at most. */
const MOST_SHOWN = 500;
/** The most characters of files' texts that a reply has; further files are too large. */
const MOST_TEXT = 2 ** 21;
/** Requests for differences that wait while one is read. */
const MAX_WAITING = 16;
/** Milliseconds for which a list waits for a page of the older history. */
const LONGEST_WAIT = 50;

const NOTHING: Difference = { steps: [], stepsTotal: 0, files: [], filesTotal: 0 };

export function createPast(dependencies: PastDependencies): Past {
  const { reader, store, indexer } = dependencies;
  const limited: Limiter = createLimiter(1, MAX_WAITING, () => {
    return new HoldfastError('unavailable', 'too many differences are being read; try again');
  });
  const detail = (entry: ListedEntry | null) => detailOf(entry, limited, dependencies);
  return {
    list: async (query, before, limit) => {
      const indexed = indexer.catchUp();
      await Promise.race([indexed, sleep(LONGEST_WAIT, undefined, { ref: false })]);
      if (!indexer.isFilling()) await indexed;
      const page = await store.entries(query, before, limit);
      const state = await store.historyState();
      return { ...page, state, isCurrent: (await store.nextAct(state?.act ?? 0)) === null };
    },
    operations: async (before, limit) => {
      await indexer.catchUp();
      return readOperations(store, before, limit);
    },
    revision: async (name) =>
      (await reader.resolve(name)) ?? (await knownRevision(name, store)) ?? findRevision(name, dependencies),
    byNumber: async (n) => {
      await indexer.catchUp();
      return detail(await store.entry(n));
    },
    byRevision: async (revision) => {
      await indexer.catchUp();
      return detail(await entryOfRevision(revision, store));
    },
    ...createAppliedReads(store, () => indexer.catchUp()),
    problem: indexer.problem,
    diff: async (from, to) => {
      const [before, after] = [await filesAt(from, reader), await filesAt(to, reader)];
      return limited(() => differenceOf(deltasBetween(before, after), dependencies));
    },
    blame: (kind, name, revision) => blameOf(kind, name, revision, dependencies),
  };
}

async function detailOf(
  entry: ListedEntry | null,
  limited: Limiter,
  dependencies: PastDependencies,
): Promise<Detail | null> {
  if (entry === null) return null;
  const { revision, kind } = entry;
  if (revision === null || (kind !== 'commit' && kind !== 'refused'))
    return { entry, message: null, isGone: false, ...NOTHING };
  const commit = await commitOf(revision, dependencies.reader);
  if (commit === null) return { entry, message: null, isGone: true, ...NOTHING };
  const { message, files } = commit;
  return { entry, message, isGone: false, ...(await limited(() => differenceOf(files, dependencies))) };
}

async function entryOfRevision(revision: string, store: HistoryStore): Promise<ListedEntry | null> {
  const list = [keys.revision(revision)];
  const ofCommit = await store.entries(withKeys(list, ['commit']), null, 1);
  const [found] =
    ofCommit.total > 0 ? ofCommit.entries : (await store.entries(withKeys(list), null, 1)).entries;
  return found === undefined ? null : store.entry(found.n);
}

async function knownRevision(name: string, store: HistoryStore): Promise<string | null> {
  return /^[0-9a-f]{4,64}$/.test(name) ? store.revisionOf(name) : null;
}

/** Reads what a commit says and changed; null if git does not have the commit. */
async function commitOf(
  revision: string,
  reader: Reader,
): Promise<{ message: string | null; files: readonly FileDelta[] } | null> {
  if ((await reader.resolve(revision)) !== revision) return null;
  const { commits } = await reader.log({ from: revision, until: null, limit: 1, skipsFirst: false });
  const [commit] = commits;
  return commit?.revision === revision ? commit : { message: null, files: [] };
}

async function differenceOf(
  files: readonly FileDelta[],
  { reader, defaults, folder }: PastDependencies,
): Promise<Difference> {
  const read = await changesOf(files, reader.blob, defaults);
  const steps = read.flatMap(({ step }) => (step === null ? [] : [step]));
  const shown: FileDiff[] = [];
  let left = MOST_TEXT;
  for (const delta of files.slice(0, MOST_SHOWN)) {
    const path = posix.join(folder, delta.path);
    const file = left > 0 ? await readFileDiff(path, delta, reader.blob) : notShown(path);
    left -= (file.before?.length ?? 0) + (file.after?.length ?? 0);
    shown.push(file);
  }
  return {
    steps: steps.slice(0, MOST_SHOWN).map(stepRecord),
    stepsTotal: steps.length,
    files: shown,
    filesTotal: files.length,
  };
}

async function filesAt(revision: string, reader: Reader): Promise<Map<string, TreeEntry>> {
  const entries = (await reader.entriesAt(revision)) ?? [];
  return new Map(entries.map((entry) => [entry.path, entry]));
}

function deltasBetween(
  before: ReadonlyMap<string, TreeEntry>,
  after: ReadonlyMap<string, TreeEntry>,
): FileDelta[] {
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort();
  return paths.flatMap((path) => {
    const [old, now] = [before.get(path) ?? null, after.get(path) ?? null];
    const isSame = old?.blob === now?.blob && old?.type === now?.type;
    return isSame ? [] : [{ path, before: old, after: now }];
  });
}

async function blameOf(
  kind: Kind,
  name: string,
  revision: string,
  { reader, folder }: PastDependencies,
): Promise<Blame | null> {
  const isOfObject = (path: string): boolean => {
    const role = classifyPath(path);
    return role.role === 'object' && role.kind === kind && role.name === name;
  };
  const path = [...(await filesAt(revision, reader)).values()].find(
    (entry) => entry.type === 'file' && isOfObject(entry.path),
  )?.path;
  if (path === undefined) return null;
  const lines = await reader.blame(revision, path);
  return {
    revision,
    path: posix.join(folder, path),
    lines: lines.map(({ text, revision: by, author, committer, time }) => ({
      text,
      revision: by,
      actor: { ...author, via: viaOf(committer) },
      at: time * 1000,
    })),
  };
}
