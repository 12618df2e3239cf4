import type { TreeEntry } from '../desired/entry.ts';
import { loadEntries, loadFile, type ParsedBlobs, type ReadBlob } from '../desired/load.ts';
import { DesiredState, type FileChange } from '../desired/state.ts';
import { AppliedState } from '../plan/applied.ts';
import { makePlan } from '../plan/plan.ts';
import type { AppDefaults } from '../protocol/app.ts';
import { parseKey } from '../protocol/name.ts';

/** How many commits are searched for the last valid content of an invalid file. */
const MAX_COMMITS = 100;

/** Reads the files of the desired state at any revision. */
export interface RevisionFiles {
  /**
   * Lists the files at the commit that is `back` first parents before a revision (default: 0); null if there is no such
   * commit.
   */
  entriesAt(revision: string, back?: number): Promise<readonly TreeEntry[] | null>;
  blob: ReadBlob;
}

/** The state of a manager that has applied a revision. */
export interface StateAt {
  applied: AppliedState;
  /** Files that are invalid at the revision, so that their objects keep an older content. */
  invalid: string[];
  /** The invalid files without valid content in the searched history: the state of their objects is unknown. */
  unknown: string[];
}

/**
 * Computes the state of a manager that has applied this revision; resolves to null if the revision is not a commit. An
 * object whose file is invalid keeps its last valid content. To find it, this follows first parents back until the
 * object was valid or absent, and then replays the commits from there, as if each had been applied.
 */
export async function stateAt(
  revisions: RevisionFiles,
  revision: string,
  defaults: AppDefaults,
): Promise<StateAt | null> {
  const entries = await revisions.entriesAt(revision);
  if (entries === null) return null;
  const state = await loadEntries(new DesiredState(), entries, revisions.blob, defaults);
  const keys = unresolved(state, [...state.keys()]);
  const invalid = filesOf(state, keys);
  const walk = { state, entries, revision, revisions, defaults };
  const { forward, missing } = await walkBack(walk, keys);
  const unknown = invalid.filter((path) => missing.has(path));
  return { applied: walkForward(state, forward), invalid, unknown };
}

interface Walk {
  state: DesiredState;
  entries: readonly TreeEntry[];
  revision: string;
  revisions: RevisionFiles;
  defaults: AppDefaults;
}

/**
 * Takes the state back, commit by commit, until these objects are resolved. `forward` has the changes that undo this, a
 * list for each commit, the latest commit first. `missing` has the files of objects that stay unresolved.
 */
async function walkBack(
  { state, entries, revision, revisions, defaults }: Walk,
  keys: readonly string[],
): Promise<{ forward: FileChange[][]; missing: Set<string> }> {
  const forward: FileChange[][] = [];
  const known: ParsedBlobs = new Map();
  let present = entries;
  let unresolvedKeys = keys;
  for (let back = 1; unresolvedKeys.length > 0 && back <= MAX_COMMITS; back++) {
    const before = await revisions.entriesAt(revision, back).catch(() => null);
    if (before === null) break;
    const changes = await changesTo(before, present, (entry) =>
      loadFile(entry, revisions.blob, defaults, known),
    );
    forward.push(changes.map(({ path }) => ({ path, file: state.file(path) ?? null })));
    state.apply(changes);
    present = before;
    unresolvedKeys = unresolved(state, unresolvedKeys);
  }
  return { forward, missing: new Set(filesOf(state, unresolvedKeys)) };
}

/** Applies the state, and then the commits, oldest first. Commits without objects are skipped: managers refuse them. */
function walkForward(state: DesiredState, forward: FileChange[][]): AppliedState {
  const applied = new AppliedState();
  for (const changes of [[], ...forward.toReversed()]) {
    state.apply(changes);
    if (state.isEmpty) continue;
    applied.applySteps(makePlan(new Set([...state.keys(), ...applied.keys()]), state, applied).steps);
  }
  return applied;
}

/** Returns the objects whose files do not determine their content: they are invalid, or name an app that is missing. */
function unresolved(state: DesiredState, keys: readonly string[]): string[] {
  const { problems } = makePlan(keys, state, new AppliedState());
  return keys.filter((key) => {
    const { kind, name } = parseKey(key);
    const object = state.object(kind, name);
    return object !== undefined && (object.content === undefined || (problems.get(key) ?? []).length > 0);
  });
}

function filesOf(state: DesiredState, keys: readonly string[]): string[] {
  return keys.flatMap((key) => {
    const { kind, name } = parseKey(key);
    return state.pathsOf(kind, name);
  });
}

/** Resolves to the changes that turn the files of `after` into those of `before`. */
export async function changesTo(
  before: readonly TreeEntry[],
  after: readonly TreeEntry[],
  load: (entry: TreeEntry) => ReturnType<typeof loadFile>,
): Promise<FileChange[]> {
  const remaining = new Map(after.map((entry) => [entry.path, entry]));
  const changes: FileChange[] = [];
  for (const entry of before) {
    const later = remaining.get(entry.path);
    remaining.delete(entry.path);
    if (later?.blob === entry.blob && later.type === entry.type) continue;
    changes.push({ path: entry.path, file: await load(entry) });
  }
  for (const path of remaining.keys()) changes.push({ path, file: null });
  return changes;
}
