import type { Diagnostic } from '../desired/diagnostic.ts';
import { keyOf, parseKey } from '../desired/name.ts';
import type { StateFile } from '../desired/state.ts';
import { AppliedState } from '../plan/applied.ts';
import type { Origin } from '../plan/step.ts';
import type { Store, StoreState } from '../store/store.ts';

/** What a manager keeps of the store from pass to pass, so that a pass reads only what changed. */
export interface Memory {
  store: StoreState;
  applied: AppliedState;
  /** The file that each applied object came from, by key. */
  origins: Map<string, Origin>;
  /** Keys of objects that may differ from what is applied; emptied by a pass that applies them. */
  pending: Set<string>;
  /** Problems between objects, by the key of the object they were found at. */
  problems: Map<string, Diagnostic[]>;
}

/** Tells the state of a file that was applied as it is, without reading it again. */
export type KnownFiles = (path: string, blob: string) => StateFile | undefined;

/**
 * What the store knows of files, as long as they are read by the same rules. Only apps: the places in a group's
 * file are not kept, and there are few groups.
 */
export function knownFiles({ store, origins, applied }: Memory, rules: string): KnownFiles {
  if (store.rules !== rules) return () => undefined;
  const apps = new Map<string, { name: string; origin: Origin }>();
  for (const [key, origin] of origins) {
    const { kind, name } = parseKey(key);
    if (kind === 'app') apps.set(origin.path, { name, origin });
  }
  return (path, blob) => {
    const app = apps.get(path);
    const content = app?.origin.blob === blob ? applied.app(app.name) : undefined;
    if (app === undefined || content === undefined) return undefined;
    // Its own texts, not the equal ones of the list of the tree: that is large, and each of them keeps all of it.
    return { ...app.origin, kind: 'app', name: app.name, parsed: { ok: true, content, members: [] } };
  };
}

/** Reads all that is applied. Everything is pending: the store may have changed in any way. */
export async function loadMemory(store: Store): Promise<Memory> {
  const state = await store.state();
  const applied = new AppliedState();
  const origins = new Map<string, Origin>();
  const objects = await store.appliedObjects();
  for (const object of objects) {
    if (object.kind === 'app') applied.setApp(object.name, object.content);
    else applied.setGroup(object.name, object.content);
    if (object.origin !== null) origins.set(keyOf(object.kind, object.name), object.origin);
  }
  return { store: state, applied, origins, pending: new Set(applied.keys()), problems: new Map() };
}
