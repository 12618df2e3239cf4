import type { AppDefaults } from '../desired/app.ts';
import type { TreeEntry } from '../desired/entry.ts';
import { loadFile, type ReadBlob } from '../desired/load.ts';
import { DesiredState, type FileChange, type StateFile } from '../desired/state.ts';
import type { Reader, TreeChange } from '../source/source.ts';
import { Pace } from '../store/pace.ts';
import type { KnownFiles } from './memory.ts';
import type { TellProgress } from './progress.ts';

/** How many files are read at once. */
const CHUNK = 200;

/** The desired state of one revision, kept from pass to pass. */
export interface Snapshot {
  readonly state: DesiredState;
  /**
   * Brings the state to a revision (null: a branch without a commit), reading only the files that differ.
   * and of those only what is not remembered. Resolves to the keys of the objects that may mean something else now. A
   * rejection leaves the state as it was.
   */
  advance(revision: string | null, remembered: () => KnownFiles): Promise<Set<string>>;
}

export function createSnapshot(reader: Reader, defaults: AppDefaults, tell: TellProgress): Snapshot {
  const state = new DesiredState();
  let tree: string | null = null;

  const advance = async (revision: string | null, remembered: () => KnownFiles): Promise<Set<string>> => {
    const next = revision === null ? null : await reader.folder(revision);
    if (next === tree) return new Set();
    const read = paced((blob, maxBytes) => reader.blob(blob, maxBytes));
    // Only the first look reads everything; later ones read what differs, which nobody remembers.
    const known: KnownFiles = tree === null ? remembered() : () => undefined;
    const load: Load = async (entry) =>
      (entry.type === 'file' ? known(entry.path, entry.blob) : undefined) ?? loadFile(entry, read, defaults);
    const changes = await loadChanges(await treeChanges(reader, state, tree, next), load, tell);
    tree = next;
    return state.apply(changes);
  };

  return { state, advance };
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

async function loadChanges(
  changes: readonly TreeChange[],
  load: Load,
  tell: TellProgress,
): Promise<FileChange[]> {
  const loaded: FileChange[] = [];
  for (let start = 0; start < changes.length; start += CHUNK) {
    const chunk = changes.slice(start, start + CHUNK);
    const files = await Promise.all(chunk.map(({ entry }) => (entry === null ? null : load(entry))));
    loaded.push(...chunk.map(({ path }, index) => ({ path, file: files[index] ?? null })));
    tell({ phase: 'reading', done: loaded.length, total: changes.length });
  }
  return refuseTwins(loaded);
}

/** A crafted tree can hold one path twice; git tools disagree on which one counts, so neither does. */
function refuseTwins(changes: FileChange[]): FileChange[] {
  const seen = new Map<string, FileChange>();
  for (const change of changes) {
    const twin = seen.get(change.path);
    if (twin?.file === undefined || twin.file === null || change.file === null) seen.set(change.path, change);
    else seen.set(change.path, { path: change.path, file: twinFile(change.file) });
  }
  return [...seen.values()];
}

function twinFile(file: StateFile): StateFile {
  const problem = {
    line: 1,
    column: 1,
    code: 'file-unreadable',
    message: 'stands twice in the tree of this commit; write the tree anew with git',
  } as const;
  if (file.kind === null) return { ...file, problem };
  return { ...file, parsed: { ok: false, problems: [problem] } };
}
