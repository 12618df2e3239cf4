import { membersOf } from '../../desired/content.ts';
import { keyOf, type ObjectKey, parseKey } from '../../desired/name.ts';
import { NO_POSITIONS } from '../../desired/parse.ts';
import type { Problem } from '../../desired/problem.ts';
import type { StateFile } from '../../desired/state.ts';
import { AppliedState } from '../../plan/applied.ts';
import type { FileOrigin, Step } from '../../plan/step.ts';
import type { AppliedObject, ChangedObjects, PassStore, StoreState } from '../../store/store.ts';

/** What a manager keeps of the store from pass to pass, so that a pass reads only what changed. */
export interface Memory {
  store: StoreState;
  applied: AppliedState;
  /** The file that each applied object came from, by key. */
  origins: Map<string, FileOrigin>;
  /** Keys of objects that may differ from what is applied; emptied by a pass that applies them. */
  pending: Set<string>;
  /** Problems between objects, by the key of the object they were found at. */
  problems: Map<string, Problem[]>;
}

/** Tells the state of a file that was applied as it is, without reading it again. */
export type KnownFiles = (path: string, blob: string) => StateFile | undefined;

/**
 * What the store knows of files, as long as they are read by the same rules. Only apps: the positions in a group's
 * file are not kept, and there are few groups.
 */
export function knownFiles({ store, origins, applied }: Memory, rules: string): KnownFiles {
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
    // Its own texts, not the equal ones of the list of the tree: that is large, and each of them keeps all of it. And
    // field by field: copied by spreading, each file would get a shape of its own, with ten thousand files 3 MB.
    const { name, origin } = app;
    const parsed = { ok: true, content, memberPositions: NO_POSITIONS } as const;
    return { path: origin.path, blob: origin.blob, kind: 'app', name, parsed };
  };
}

/** Reads all that is applied. Everything is pending: the store may have changed in any way. */
export async function loadMemory(store: PassStore): Promise<Memory> {
  const state = await store.state();
  const memory: Memory = {
    store: state,
    applied: new AppliedState(),
    origins: new Map(),
    pending: new Set(),
    problems: new Map(),
  };
  for (const object of await store.appliedObjects()) remember(memory, object);
  for (const key of memory.applied.keys()) memory.pending.add(key);
  return memory;
}

/**
 * Follows what others changed, and marks as pending what this may make different: the objects themselves, and the apps
 * that a group names now or named before, which it can hold back. What else depends on them the planner finds. Returns
 * the objects' keys.
 */
export function followChanges(memory: Memory, { objects, gone }: ChangedObjects): string[] {
  for (const object of objects) {
    touch(memory, object);
    remember(memory, object);
    touch(memory, object);
  }
  for (const object of gone) {
    touch(memory, object);
    forget(memory, object);
  }
  return [...objects, ...gone].map(({ kind, name }) => keyOf(kind, name));
}

function touch({ applied, pending }: Memory, { kind, name }: ObjectKey): void {
  pending.add(keyOf(kind, name));
  for (const app of membersOf(applied.content(kind, name))) pending.add(keyOf('app', app));
}

function remember(memory: Memory, object: AppliedObject): void {
  const { kind, name, content } = object;
  memory.applied.set(kind, name, content);
  followOrigin(memory, object);
}

/** Remembers which file an object comes from now; none for null. */
export function followOrigin(
  { origins }: Memory,
  { kind, name, origin }: Pick<Step, 'kind' | 'name' | 'origin'>,
): void {
  if (origin === null) origins.delete(keyOf(kind, name));
  else origins.set(keyOf(kind, name), origin);
}

function forget({ applied, origins }: Memory, { kind, name }: ObjectKey): void {
  applied.set(kind, name, null);
  origins.delete(keyOf(kind, name));
}
