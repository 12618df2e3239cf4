import { inLanes } from '../../async/lanes.ts';
import { inTurns, Pace } from '../../async/pace.ts';
import type { AppDefaults } from '../../desired/app.ts';
import type { TreeEntry } from '../../desired/entry.ts';
import { loadFile, type ReadBlob } from '../../desired/load.ts';
import { fileProblem } from '../../desired/problem.ts';
import { DesiredState, type FileChange, type StateFile } from '../../desired/state.ts';
import type { Reader, TreeChange } from '../../source/source.ts';
import type { TellProgress } from './dependencies.ts';
import type { KnownFiles } from './memory.ts';

/** How many files are on their way at once. */
const LANES = 200;

/** Which revision was read; null: a branch without a commit. */
export interface Reading {
  revision: string | null;
}

/** The desired state of one revision, kept from pass to pass. */
export interface Snapshot {
  readonly state: DesiredState;
  /**
   * What the state says. Another object after each change of the state, also where a change was taken back; null before
   * anything was read, and in the middle of a change.
   */
  reading(): Reading | null;
  /**
   * Brings the state to a revision (null: a branch without a commit), reading only the files that differ,
   * and of those only what is not remembered. Resolves to the keys of the objects that may mean something else now. A
   * rejection leaves the state as it was.
   */
  advance(revision: string | null, remembered: () => KnownFiles): Promise<Set<string>>;
}

export function createSnapshot(reader: Reader, defaults: AppDefaults, tell: TellProgress): Snapshot {
  const state = new DesiredState();
  let tree: string | null = null;
  let reading: Reading | null = null;

  const advance = async (revision: string | null, remembered: () => KnownFiles): Promise<Set<string>> => {
    const next = revision === null ? null : await reader.folder(revision);
    if (next === tree) {
      if (reading?.revision !== revision) reading = { revision };
      return new Set();
    }
    const read = paced((blob, maxBytes) => reader.blob(blob, maxBytes));
    // Only the first call reads everything; later ones read what differs, which is not remembered.
    const known: KnownFiles = tree === null ? remembered() : () => undefined;
    const load: Load = async (entry) =>
      (entry.type === 'file' ? known(entry.path, entry.blob) : undefined) ?? loadFile(entry, read, defaults);
    const changes = await loadChanges(await treeChanges(reader, state, tree, next), load, tell);
    tree = next;
    reading = null;
    const touched = await applyChanges(state, changes);
    reading = { revision };
    return touched;
  };

  return { state, reading: () => reading, advance };
}

/** What differs between two trees of the folder; null is a folder that is not there. */
async function treeChanges(
  reader: Reader,
  state: DesiredState,
  from: string | null,
  to: string | null,
): Promise<TreeChange[]> {
  const changes = from === null || to === null ? null : await reader.changes(from, to);
  if (changes !== null) return changes;
  // Nothing was read before, or the tree that was read is gone: of a rewritten history git keeps nothing for ever.
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
 * The same blobs, handed out one by one: what has been read is parsed at once, and many files that arrive together
 * must not keep the event loop from everything else.
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

/** Loads what has changed, some files at a time, and gives way to others between them. */
async function loadChanges(
  changes: readonly TreeChange[],
  load: Load,
  tell: TellProgress,
): Promise<FileChange[]> {
  const loaded: FileChange[] = [];
  const pace = new Pace();
  let done = 0;
  await inLanes(LANES, changes, async ({ path, entry }, index) => {
    loaded[index] = { path, file: entry === null ? null : await load(entry) };
    done += 1;
    tell({ phase: 'reading', done, total: changes.length });
    await pace.step();
  });
  return refuseTwins(loaded);
}

/**
 * Applies changes in pieces. In the middle of a pass some files are seen before and some after their change; what has to
 * see one revision reads between two passes.
 */
async function applyChanges(state: DesiredState, changes: readonly FileChange[]): Promise<Set<string>> {
  const touched = new Set<string>();
  await inTurns(changes, (change) => {
    for (const key of state.apply([change])) touched.add(key);
  });
  return touched;
}

/** A crafted tree can hold one path twice; git tools disagree on which one counts, so neither does. */
async function refuseTwins(changes: readonly FileChange[]): Promise<FileChange[]> {
  const seen = new Map<string, FileChange>();
  await inTurns(changes, (change) => {
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
