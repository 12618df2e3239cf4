import { type Content, namedIn } from '../desired/content.ts';
import type { TreeEntry } from '../desired/entry.ts';
import { DESCRIPTORS } from '../desired/kinds.ts';
import { loadEntries, loadFile } from '../desired/load.ts';
import { DesiredState } from '../desired/state.ts';
import { HoldfastError } from '../errors.ts';
import type { History } from '../history/history.ts';
import { keyOf, type ObjectKey, parseKey } from '../protocol/name.ts';
import { commitsBetween, keyAt } from './later-changes.ts';
import {
  emptyRollback,
  type Need,
  type Present,
  type Rollback,
  type RollbackEdit,
  type RollbackOptions,
} from './rollback.ts';
import { textOf, unlistings } from './texts.ts';

/** The most commits that are searched for a valid version of a file, or for who deleted apps. */
const MAX_SEARCH = 2000;

/** What a restore is about. */
export interface RestoreRequest extends RollbackOptions {
  /** The revision: a full commit id that `past` has. */
  to: string;
  objects: readonly ObjectKey[];
}

/** One object at the revision. */
interface Then {
  path: string;
  blob: string;
  content: Content;
}

/** The files of objects at a revision, by key. */
type FilesThen = ReadonlyMap<string, readonly TreeEntry[]>;

/** A restore while it is worked out. */
interface Work {
  request: RestoreRequest;
  present: Present;
  past: History;
  then: FilesThen;
  /** The objects that come back, by key; grows while dependencies are found. */
  wanted: Map<string, ObjectKey>;
  /** The names of the groups and devices that name what stays missing, by the keys of that. */
  missing: Map<string, string[]>;
  rollback: Rollback;
}

/**
 * Resolves to the way to give these objects the bytes that their files had at a revision, at their present paths. Rejects as
 * `absent` if an object exists neither then nor now.
 */
export async function restore(request: RestoreRequest, present: Present, past: History): Promise<Rollback> {
  const rollback = emptyRollback();
  const then = await filesAt(request.to, past);
  const wanted = new Map(request.objects.map((object) => [keyOf(object.kind, object.name), object]));
  const work: Work = { request, present, past, then, wanted, missing: new Map(), rollback };
  for (const object of wanted.values()) await restoreOne(object, work);
  const { edits } = rollback;
  const deleted = edits.flatMap(({ kind, name, text }) => (kind === 'app' && text === null ? name : []));
  const gone = new Set(deleted.filter((app) => !then.has(keyOf('app', app))));
  edits.push(...(await unlistings(gone, edits, present.desired, past)));
  rollback.needs.push(...(await missingNeeds(work)));
  return rollback;
}

async function filesAt(revision: string, past: History): Promise<FilesThen> {
  const entries = await past.entriesAt(revision);
  if (entries === null) throw new HoldfastError('invalid', `there is no commit ${revision}`);
  const files = new Map<string, TreeEntry[]>();
  for (const entry of entries) {
    const key = keyAt(entry);
    if (key !== null) files.set(key, [...(files.get(key) ?? []), entry]);
  }
  return files;
}

async function restoreOne(object: ObjectKey, work: Work): Promise<void> {
  const { request, rollback, then, wanted, missing } = work;
  const found = await thenOf(object, work);
  if (found === undefined) return;
  if (found === null) {
    removeObject(object, work);
    return;
  }
  rollback.edits.push(...(await editsTo(object, found, work)));
  for (const needed of missingNames(found.content, work)) {
    const key = keyOf(needed.kind, needed.name);
    if (request.withDependencies && then.has(key)) wanted.set(key, needed);
    else missing.set(key, [...(missing.get(key) ?? []), object.name]);
  }
}

/** Resolves to the object then; null if there was none; undefined if its file is refused, which is noted. */
async function thenOf({ kind, name }: ObjectKey, work: Work): Promise<Then | null | undefined> {
  const { request, present, past, then, rollback } = work;
  const key = keyOf(kind, name);
  const state = await loadEntries(new DesiredState(), then.get(key) ?? [], past.blob, present.defaults);
  const object = state.object(kind, name);
  if (object === undefined) {
    if (present.desired.object(kind, name) !== undefined) return null;
    const message = `${key} exists neither in ${request.to.slice(0, 12)} nor now`;
    throw new HoldfastError('absent', message, { missing: kind });
  }
  if (object.content !== undefined) return { ...object, content: object.content };
  const { problems = [], newestValid = await newestValidOf(key, work) } = rollback.refused ?? {};
  rollback.refused = { problems: [...problems, ...state.problemsOf(kind, name)], newestValid };
  return undefined;
}

/** Searches the commits before the revision for the newest version of an object's file that is valid. */
async function newestValidOf(key: string, { request, past, present }: Work): Promise<string | null> {
  let searched = 0;
  for await (const { revision, files } of commitsBetween(past, request.to, null)) {
    searched += 1;
    if (searched > MAX_SEARCH) return null;
    const own = files.filter((file) => keyAt(file) === key);
    for (const { path, after } of own)
      if (after !== null && (await isValid({ path, ...after }, past, present))) return revision;
  }
  return null;
}

async function isValid(entry: TreeEntry, past: History, { defaults }: Present): Promise<boolean> {
  const file = await loadFile(entry, past.blob, defaults);
  return file !== null && file.kind !== null && file.parsed.ok;
}

async function editsTo(
  { kind, name }: ObjectKey,
  then: Then,
  { present: { desired }, past }: Work,
): Promise<RollbackEdit[]> {
  const paths = desired.pathsOf(kind, name);
  const path = paths.includes(then.path) ? then.path : (paths[0] ?? then.path);
  const duplicates = paths.filter((other) => other !== path);
  const removals = duplicates.map((other): RollbackEdit => ({ kind, name, path: other, text: null }));
  if (desired.file(path)?.blob === then.blob) return removals;
  const text = await textOf(past, then.blob);
  if (text === null) return [];
  return [{ kind, name, path, text }, ...removals];
}

/** Removes an object that did not exist then, if that is allowed. */
function removeObject({ kind, name }: ObjectKey, { request, rollback, present }: Work): void {
  if (!request.allowDelete) {
    const why = `did not exist in ${request.to.slice(0, 12)}, so it would be deleted, which must be allowed`;
    rollback.needs.push({ object: keyOf(kind, name), why });
    return;
  }
  const paths = present.desired.pathsOf(kind, name);
  rollback.edits.push(...paths.map((path): RollbackEdit => ({ kind, name, path, text: null })));
}

/** Returns what an object named then and what neither exists now nor comes back. */
function missingNames(content: Content, { wanted, present }: Work): ObjectKey[] {
  const { kind, names } = namedIn(content);
  return names
    .filter((name) => present.desired.object(kind, name) === undefined && !wanted.has(keyOf(kind, name)))
    .map((name) => ({ kind, name }));
}

/** Resolves to what is missing as needs, each with the commit that deleted it. */
async function missingNeeds(work: Work): Promise<Need[]> {
  const deletedBy = work.missing.size === 0 ? new Map<string, string>() : await deletionsOf(work);
  return [...work.missing].flatMap(([object, groups]) => {
    const by = deletedBy.get(object);
    const { kind } = parseKey(object);
    const reason =
      by === undefined ? `and there is no such ${DESCRIPTORS[kind].noun}` : `deleted in ${by.slice(0, 12)}`;
    return groups.map((group) => ({
      object,
      why: `${group} ${kind === 'app' ? 'listed' : 'named'} it, ${reason}`,
    }));
  });
}

/** Finds the newest commit that deleted each missing object, in one search. */
async function deletionsOf({ missing, request, present, past }: Work): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  let searched = 0;
  for await (const { revision, files } of commitsBetween(past, present.revision, request.to)) {
    // A file that moved is deleted as well, and created.
    const kept = new Set(files.filter(({ after }) => after !== null).map(keyAt));
    const deleted = files.flatMap((file) => keyAt(file) ?? []).filter((key) => !kept.has(key));
    for (const key of deleted) if (missing.has(key) && !found.has(key)) found.set(key, revision);
    searched += 1;
    if (found.size === missing.size || searched === MAX_SEARCH) break;
  }
  return found;
}
