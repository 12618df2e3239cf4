import type { Content } from '../desired/content.ts';
import { classifyPath } from '../desired/file.ts';
import { loadFile, type ReadBlob } from '../desired/load.ts';
import type { StateFile } from '../desired/state.ts';
import { changedFields } from '../plan/describe.ts';
import type { ChangeType, FileOrigin, Step } from '../plan/step.ts';
import type { AppDefaults } from '../protocol/app.ts';
import { keyOf, type ObjectKey, parseKey } from '../protocol/name.ts';
import type { FileDelta, FileVersion } from './commit.ts';

/** What a commit changed in one object. It has no values: those are read from the blobs when somebody looks. */
export interface ObjectChange extends ObjectKey {
  change: ChangeType;
  /** The fields that differ, of an update; empty if only the file's path changed, or if a side cannot be read. */
  fields: readonly string[];
  /** The object's file before and after; null if there was none, or more than one. */
  before: FileOrigin | null;
  after: FileOrigin | null;
  /** Whether the object's file is invalid after the commit, or one of several of the same name. */
  isInvalid: boolean;
}

/** A change, and its step with the values; null if a side cannot be read, or if only the path changed. */
export interface ReadChange {
  change: ObjectChange;
  step: Step | null;
  /** Whether only the path changed. */
  isMove: boolean;
}

/** How many files are read at once. */
const AT_ONCE = 100;

/**
 * Resolves to what differences of files mean for objects, in the order of the files' paths. Files that mean the same as before
 * (comments, order, formatting) and files that are not of objects are left out; a file that moved is one object. `read` reads
 * blobs; contents get today's defaults.
 */
export async function changesOf(
  files: readonly FileDelta[],
  read: ReadBlob,
  defaults: AppDefaults,
): Promise<ReadChange[]> {
  const objects = new Map<string, Sides>();
  for (let start = 0; start < files.length; start += AT_ONCE) {
    const loaded = files.slice(start, start + AT_ONCE).map(async ({ path, before, after }) => {
      const load = (version: FileVersion | null): Promise<StateFile | null> =>
        version === null ? Promise.resolve(null) : loadFile({ path, ...version }, read, defaults);
      return Promise.all([load(before), load(after)]);
    });
    for (const [before, after] of await Promise.all(loaded)) {
      if (before !== null) collect(objects, before, 'before');
      if (after !== null) collect(objects, after, 'after');
    }
  }
  return [...objects.values()].flatMap((sides) => changeOf(sides) ?? []);
}

/** A change as the history lists it. */
export type ListedChange = Omit<ObjectChange, 'isInvalid'>;

/** Returns the fields that differ between two blobs of an object; undefined if that is not known without reading them. */
export type KnownFields = (key: string, before: string, after: string) => readonly string[] | undefined;

/**
 * As `changesOf`, without values, and with as little reading as possible: no file that was only created or deleted, and none
 * of an update whose fields are known.
 */
export async function listedChangesOf(
  files: readonly FileDelta[],
  read: ReadBlob,
  defaults: AppDefaults,
  knownFields: KnownFields,
): Promise<ListedChange[]> {
  const objects = deltasByObject(files);
  const unread = [...objects].map(([key, deltas]) => [key, unreadChange(key, deltas, knownFields)] as const);
  const toRead = unread.flatMap(([key, change]) => (change === undefined ? (objects.get(key) ?? []) : []));
  const found = await changesOf(toRead, read, defaults);
  const changes = new Map(found.map(({ change }) => [keyOf(change.kind, change.name), change]));
  return unread.flatMap(([key, change]) => (change === undefined ? changes.get(key) : change) ?? []);
}

function deltasByObject(files: readonly FileDelta[]): Map<string, FileDelta[]> {
  const objects = new Map<string, FileDelta[]>();
  for (const delta of files) {
    const role = classifyPath(delta.path);
    if (role.role !== 'object') continue;
    const key = keyOf(role.kind, role.name);
    const deltas = objects.get(key) ?? [];
    deltas.push(delta);
    objects.set(key, deltas);
  }
  return objects;
}

/** Null for no change; undefined if the files must be read. */
function unreadChange(
  key: string,
  deltas: readonly FileDelta[],
  knownFields: KnownFields,
): ListedChange | null | undefined {
  const befores = deltas.flatMap(({ path, before }) =>
    before === null ? [] : [{ path, blob: before.blob }],
  );
  const afters = deltas.flatMap(({ path, after }) => (after === null ? [] : [{ path, blob: after.blob }]));
  const [before, after] = [only(befores), only(afters)];
  const object = { ...parseKey(key), before, after };
  if (befores.length === 0) return { ...object, change: 'create', fields: [] };
  if (afters.length === 0) return { ...object, change: 'delete', fields: [] };
  const fields = before && after ? knownFields(key, before.blob, after.blob) : undefined;
  if (fields === undefined) return undefined;
  const isSame = fields.length === 0 && before?.path === after?.path;
  return isSame ? null : { ...object, change: 'update', fields };
}

function only(files: readonly FileOrigin[]): FileOrigin | null {
  return files.length === 1 ? (files[0] ?? null) : null;
}

/** The files of one object that a commit took away and brought. */
interface Sides extends ObjectKey {
  before: ObjectFile[];
  after: ObjectFile[];
}

type ObjectFile = Extract<StateFile, ObjectKey>;

function collect(objects: Map<string, Sides>, file: StateFile, side: 'before' | 'after'): void {
  if (file.kind === null) return;
  const { kind, name } = file;
  const key = keyOf(kind, name);
  const sides = objects.get(key) ?? { kind, name, before: [], after: [] };
  sides[side].push(file);
  objects.set(key, sides);
}

function changeOf({ kind, name, before, after }: Sides): ReadChange | null {
  const [was, is] = [contentOf(before), contentOf(after)];
  const change: ObjectChange = {
    kind,
    name,
    change: before.length === 0 ? 'create' : after.length === 0 ? 'delete' : 'update',
    fields: was === undefined || is === undefined ? [] : fieldsBetween(was, is),
    before: originOf(before),
    after: originOf(after),
    isInvalid: is === undefined,
  };
  if (was === undefined || is === undefined) return { change, step: null, isMove: false };
  const isSame = was !== null && is !== null && change.fields.length === 0;
  if (isSame) return change.before?.path === change.after?.path ? null : { change, step: null, isMove: true };
  return {
    change,
    isMove: false,
    step: { kind, name, before: was, after: is, origin: change.after } as Step,
  };
}

/** Null if there is no file; undefined if the content is unknown. */
function contentOf(files: readonly ObjectFile[]): Content | null | undefined {
  const [file] = files;
  if (file === undefined) return null;
  return files.length === 1 && file.parsed.ok ? file.parsed.content : undefined;
}

function fieldsBetween(before: Content | null, after: Content | null): string[] {
  return before === null || after === null ? [] : changedFields(before, after);
}

function originOf(files: readonly ObjectFile[]): FileOrigin | null {
  const [file] = files;
  return file === undefined || files.length > 1 ? null : { path: file.path, blob: file.blob };
}
