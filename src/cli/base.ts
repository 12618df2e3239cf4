import type { AppDefaults } from '../desired/app.ts';
import type { TreeEntry } from '../desired/entry.ts';
import { loadFile } from '../desired/load.ts';
import { parseKey } from '../desired/name.ts';
import { DesiredState, type FileChange } from '../desired/state.ts';
import { AppliedState } from '../plan/applied.ts';
import { makePlan } from '../plan/plan.ts';
import type { RevisionReader } from '../source/git/read/revisions.ts';
import { loadEntries } from './fleet.ts';

/** How many commits are looked through for the last good content of what is invalid. */
const MAX_COMMITS = 100;

/** What a manager holds that has followed a revision. */
export interface Base {
  applied: AppliedState;
  /** Files whose objects keep an older content, since they are invalid at the revision. */
  invalid: string[];
  /** Those of them of which no good content was found: nothing is known of their objects. */
  unknown: string[];
}

/**
 * What a manager would hold that has applied this revision; null where it is no commit. An object that is invalid
 * there keeps the content that it had last: the first parents are followed back until it was valid or not there, and
 * from there on each of these commits counts as applied.
 */
export async function baseAt(
  revisions: RevisionReader,
  revision: string,
  defaults: AppDefaults,
): Promise<Base | null> {
  const entries = await revisions.entriesAt(revision);
  if (entries === null) return null;
  const state = await loadEntries(new DesiredState(), entries, revisions.blob, defaults);
  const kept = unsettled(state, [...state.keys()]);
  const invalid = filesOf(state, kept);
  const walk = { state, entries, revision, revisions, defaults };
  const { newer, missing } = await walkBack(walk, kept);
  const unknown = invalid.filter((path) => missing.has(path));
  return { applied: walkForward(state, newer), invalid, unknown };
}

interface Walk {
  state: DesiredState;
  entries: readonly TreeEntry[];
  revision: string;
  revisions: RevisionReader;
  defaults: AppDefaults;
}

/**
 * Takes the state back until nothing is unsettled; `newer` are the changes that lead forward again, those of the latest
 * commit first.
 */
async function walkBack(
  { state, entries, revision, revisions, defaults }: Walk,
  keys: readonly string[],
): Promise<{ newer: FileChange[][]; missing: Set<string> }> {
  const newer: FileChange[][] = [];
  let present = entries;
  let open = keys;
  for (let back = 1; open.length > 0 && back <= MAX_COMMITS; back++) {
    const before = await revisions.entriesAt(`${revision}~${back}`).catch(() => null);
    if (before === null) break;
    const changes = await changesTo(before, present, (entry) => loadFile(entry, revisions.blob, defaults));
    newer.push(changes.map(({ path }) => ({ path, file: state.file(path) ?? null })));
    state.apply(changes);
    present = before;
    open = unsettled(state, open);
  }
  return { newer, missing: new Set(filesOf(state, open)) };
}

/** Applies the state as it is, and then commit after commit. A commit without any object is refused by managers. */
function walkForward(state: DesiredState, newer: FileChange[][]): AppliedState {
  const applied = new AppliedState();
  for (const changes of [[], ...newer.toReversed()]) {
    state.apply(changes);
    if (state.isEmpty) continue;
    applied.applySteps(makePlan(new Set([...state.keys(), ...applied.keys()]), state, applied).steps);
  }
  return applied;
}

/** Which of these objects have a file that says nothing by itself: it is invalid, or names an app that is not there. */
function unsettled(state: DesiredState, keys: readonly string[]): string[] {
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

/** What makes the files of `after` those of `before`. */
async function changesTo(
  before: readonly TreeEntry[],
  after: readonly TreeEntry[],
  load: (entry: TreeEntry) => ReturnType<typeof loadFile>,
): Promise<FileChange[]> {
  const known = new Map(after.map((entry) => [entry.path, entry]));
  const changes: FileChange[] = [];
  for (const entry of before) {
    const same = known.get(entry.path);
    known.delete(entry.path);
    if (same?.blob === entry.blob && same.type === entry.type) continue;
    changes.push({ path: entry.path, file: await load(entry) });
  }
  for (const path of known.keys()) changes.push({ path, file: null });
  return changes;
}
