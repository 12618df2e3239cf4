import { namedIn } from '../../desired/content.ts';
import { NO_POSITIONS } from '../../desired/parse.ts';
import type { Problem } from '../../desired/problem.ts';
import type { StateFile } from '../../desired/state.ts';
import { AppliedState } from '../../plan/applied.ts';
import type { FileOrigin, Step } from '../../plan/step.ts';
import { keyOf, type ObjectKey, parseKey } from '../../protocol/name.ts';
import type { AppliedObject, ChangedObjects, PassStore, StoreState } from '../../store/objects/port.ts';

/** What a manager remembers of the store from pass to pass, so that a pass reads only what has changed. */
export interface Memory {
  store: StoreState;
  applied: AppliedState;
  /** The file that each applied object came from, by key. */
  origins: Map<string, FileOrigin>;
  /** Keys of objects that may differ from what is applied; emptied by a pass that applies them. */
  pending: Set<string>;
  /** Problems between objects, by the key of the object at which they were found. */
  problems: Map<string, Problem[]>;
}

/** Returns the state of a file whose content is applied, without reading the file; undefined if it has to be read. */
export type StoredFiles = (path: string, blob: string) => StateFile | undefined;

/**
 * Returns what the store has of files, if it was read by the same rules. Only of apps: the positions in a group's file are
 * not stored, and there are few groups.
 */
export function storedFiles({ store, origins, applied }: Memory, rules: string): StoredFiles {
  if (store.rules !== rules) return () => undefined;
  const apps = new Map<string, { name: string; origin: FileOrigin }>();
  for (const [key, origin] of origins) {
    const { kind, name } = parseKey(key);
    if (kind === 'app') apps.set(origin.path, { name, origin });
  }
  return (path, blob) => {
    const app = apps.get(path);
    const content = app?.origin.blob === blob ? applied.app(app.name) : undefined;
    if (app === undefined || content === undefined) return undefined;
    // The stored strings, not the equal ones from the listing of the tree: each of those keeps the whole listing alive.
    // And field by field: with spreading, each file would get a shape of its own, 3 MB for ten thousand files.
    const { name, origin } = app;
    const parsed = { ok: true, content, memberPositions: NO_POSITIONS } as const;
    return { path: origin.path, blob: origin.blob, kind: 'app', name, parsed };
  };
}

/** Reads everything that is applied. All of it is pending, since the store can have changed in any way. */
export async function loadMemory(store: PassStore): Promise<Memory> {
  const state = await store.state();
  const memory: Memory = {
    store: state,
    applied: new AppliedState(),
    origins: new Map(),
    pending: new Set(),
    problems: new Map(),
  };
  for (const object of await store.appliedObjects()) setObject(memory, object);
  for (const key of memory.applied.keys()) memory.pending.add(key);
  return memory;
}

/**
 * Takes over what another manager has changed in the store, and marks as pending the changed objects and what a
 * changed one names now or named before, since a group can hold back its apps, and a device its group. (The planner finds everything else that
 * depends on them.) Returns whether there is any.
 */
export function applyStoreChanges(memory: Memory, { objects, gone }: ChangedObjects): boolean {
  for (const object of objects) {
    markPending(memory, object);
    setObject(memory, object);
    markPending(memory, object);
  }
  for (const object of gone) {
    markPending(memory, object);
    removeObject(memory, object);
  }
  return objects.length + gone.length > 0;
}

/** Marks the object as pending, and what it names in the memory as it is now. */
function markPending({ applied, pending }: Memory, { kind, name }: ObjectKey): void {
  pending.add(keyOf(kind, name));
  const named = namedIn(applied.content(kind, name));
  for (const other of named.names) pending.add(keyOf(named.kind, other));
}

function setObject(memory: Memory, object: AppliedObject): void {
  const { kind, name, content } = object;
  memory.applied.set(kind, name, content);
  setOrigin(memory, object);
}

/** Sets the file that an object comes from; null removes it. */
export function setOrigin(
  { origins }: Memory,
  { kind, name, origin }: Pick<Step, 'kind' | 'name' | 'origin'>,
): void {
  if (origin === null) origins.delete(keyOf(kind, name));
  else origins.set(keyOf(kind, name), origin);
}

function removeObject({ applied, origins }: Memory, { kind, name }: ObjectKey): void {
  applied.set(kind, name, null);
  origins.delete(keyOf(kind, name));
}
