import { forEachConcurrently } from '../../async/concurrency.ts';
import { forEachYielding, Pace } from '../../async/pace.ts';
import type { TreeEntry } from '../../desired/entry.ts';
import { loadFile, type ParsedBlobs, type ReadBlob } from '../../desired/load.ts';
import { fileProblem } from '../../desired/problem.ts';
import { DesiredState, type FileChange, type StateFile } from '../../desired/state.ts';
import type { TreeChange } from '../../ids/ids-reader.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import type { Reader } from '../../source/source.ts';
import type { OnProgress } from './dependencies.ts';
import type { StoredFiles } from './memory.ts';

/** How many files are loaded at once. */
const CONCURRENCY = 200;

/** The revision that was read; null for a branch without a commit. */
export interface Reading {
  revision: string | null;
}

/** The desired state of one revision, kept from pass to pass. */
export interface Snapshot {
  readonly state: DesiredState;
  /**
   * The revision that the state is of. A new object after each change of the state, even if a change was reverted; null
   * before anything was read, and while a change is applied.
   */
  reading(): Reading | null;
  /**
   * Brings the state to a revision (null: a branch without a commit). Loads only the files that differ; the first call
   * also skips files that the store has. Resolves to the keys of objects that may have changed. If it rejects, the state
   * is as it was before. Rejects as `unavailable`.
   */
  advance(revision: string | null, storedFiles: () => StoredFiles): Promise<Set<string>>;
}

export function createSnapshot(reader: Reader, defaults: AppDefaults, onProgress: OnProgress): Snapshot {
  const state = new DesiredState();
  let tree: string | null = null;
  let reading: Reading | null = null;

  const advance = async (revision: string | null, storedFiles: () => StoredFiles): Promise<Set<string>> => {
    const next = revision === null ? null : await reader.folderTree(revision);
    if (next === tree) {
      if (reading?.revision !== revision) reading = { revision };
      return new Set();
    }
    const read = paced((blob, maxBytes) => reader.blob(blob, maxBytes));
    // The first call reads all files, most of which are in the store. Later calls read changed files, which are not.
    const stored: StoredFiles = tree === null ? storedFiles() : () => undefined;
    const known: ParsedBlobs = new Map();
    const load: Load = async (entry) =>
      (entry.type === 'file' ? stored(entry.path, entry.blob) : undefined) ??
      loadFile(entry, read, defaults, known);
    const changes = await loadChanges(await treeChanges(reader, state, tree, next), load, onProgress);
    tree = next;
    reading = null;
    const touched = await applyChanges(state, changes);
    reading = { revision };
    return touched;
  };

  return { state, reading: () => reading, advance };
}

/** Resolves to the differences between two trees of the folder; null stands for a missing folder. */
async function treeChanges(
  reader: Reader,
  state: DesiredState,
  from: string | null,
  to: string | null,
): Promise<TreeChange[]> {
  const changes = from === null || to === null ? null : await reader.changes(from, to);
  if (changes !== null) return changes;
  // Nothing was read before, or git has removed the tree that was read, after a rewrite of the history.
  const entries = to === null ? [] : await reader.list(to);
  const paths = new Set(entries.map(({ path }) => path));
  const gone = Array.from(state.files(), ({ path }) => path).filter((path) => !paths.has(path));
  return [
    ...gone.map((path) => ({ path, entry: null })),
    ...entries.map((entry) => ({ path: entry.path, entry })),
  ];
}

type Load = (entry: TreeEntry) => Promise<StateFile | null>;

/**
 * Hands out blobs one by one: each is parsed as soon as it is there, and many that arrive together must not block the
 * event loop.
 */
function paced(read: ReadBlob): ReadBlob {
  const pace = new Pace();
  let turn: Promise<void> = Promise.resolve();
  return async (blob, maxBytes) => {
    const found = await read(blob, maxBytes);
    turn = turn.then(() => pace.step());
    await turn;
    return found;
  };
}

/** Loads the changed files, up to `CONCURRENCY` at a time, and yields to the event loop between them. */
async function loadChanges(
  changes: readonly TreeChange[],
  load: Load,
  onProgress: OnProgress,
): Promise<FileChange[]> {
  const loaded: FileChange[] = [];
  const pace = new Pace();
  let done = 0;
  await forEachConcurrently(CONCURRENCY, changes, async ({ path, entry }, index) => {
    loaded[index] = { path, file: entry === null ? null : await load(entry) };
    done += 1;
    onProgress({ phase: 'reading', done, total: changes.length });
    await pace.step();
  });
  return refuseTwins(loaded);
}

/**
 * Applies changes one by one, and yields to the event loop between them. Until it is done, the state has some files before
 * and some after their change, so readers check `reading`.
 */
async function applyChanges(state: DesiredState, changes: readonly FileChange[]): Promise<Set<string>> {
  const touched = new Set<string>();
  await forEachYielding(changes, (change) => {
    for (const key of state.apply([change])) touched.add(key);
  });
  return touched;
}

/** A crafted tree can hold one path twice. Git tools disagree on which entry counts, so neither does. */
async function refuseTwins(changes: readonly FileChange[]): Promise<FileChange[]> {
  const seen = new Map<string, FileChange>();
  await forEachYielding(changes, (change) => {
    const twin = seen.get(change.path);
    if (twin?.file === undefined || twin.file === null || change.file === null) seen.set(change.path, change);
    else seen.set(change.path, { path: change.path, file: twinFile(change.file) });
  });
  return [...seen.values()];
}

function twinFile(file: StateFile): StateFile {
  const message = 'is in the tree of this commit twice; recreate the tree with git';
  const problem = fileProblem('file-unreadable', message);
  if (file.kind === null) return { ...file, problem };
  return { ...file, parsed: { ok: false, problems: [problem] } };
}
