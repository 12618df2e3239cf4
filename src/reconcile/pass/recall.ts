import type { DesiredState } from '../../desired/state.ts';
import type { Head } from '../../source/source.ts';
import type { PassStore, StoreState } from '../../store/store.ts';
import type { PassDependencies } from './dependencies.ts';
import { isCurrent } from './latest-head.ts';
import { applyStoreChanges, loadMemory, type Memory } from './memory.ts';

/** Keeps the memory of the store that passes share, and brings it up to date. */
export interface Recall {
  /** Null before the store was first read, and after a failure that leaves unknown what the store took. */
  memory(): Memory | null;
  /**
   * Resolves to the memory, up to date with the store, which is seeded first if necessary. If another manager has changed
   * the store, reads the changed objects, or all of them if the store cannot tell which they are. `state` must have been
   * read before the head of the branch; the memory keeps its sequence, to claim from, whatever happens meanwhile.
   */
  refresh(state: StoreState, head: Head): Promise<Memory>;
  /**
   * Seeds the store if the head, which is to be applied now, is of a history that it has not followed; resolves to whether it
   * did: then the memory has to be refreshed.
   */
  follow(state: StoreState, head: Head): Promise<boolean>;
  /**
   * Returns the keys of objects that another manager may have changed since the last call, or whose ids this manager's own
   * seeding may have raised.
   */
  takeChangedElsewhere(): string[];
  /** Discards the memory, so that everything is read again: what the store took is not known. */
  forget(): void;
}

export function createRecall(
  store: PassStore,
  desired: DesiredState,
  keeper: PassDependencies['keeper'],
): Recall {
  let memory: Memory | null = null;
  /** What was read from the store last; stays when `memory` is discarded. */
  let lastLoaded: Memory | null = null;
  let changedElsewhere = new Set<string>();

  const markChanged = (keys: Iterable<string>): void => {
    for (const key of keys) changedElsewhere.add(key);
  };

  /** Reads only what has changed. Resolves to false if the store cannot tell what that is. */
  const readChanges = async (current: Memory, state: StoreState): Promise<boolean> => {
    const { mark } = current.store;
    if (mark === null || !isComparable(current.store, state)) return false;
    const changes = await store.changedObjects(mark);
    if (changes === null) return false;
    markChanged(applyStoreChanges(current, changes));
    current.store = state;
    return true;
  };

  /** Seeding makes what was read outdated, and can also raise the id of an object whose content stays the same. */
  const after = (isSeeded: boolean): boolean => {
    if (isSeeded) markChanged(memory?.applied.keys() ?? []);
    if (isSeeded) memory = null;
    return isSeeded;
  };

  const readAll = async (state: StoreState): Promise<Memory> => {
    const loaded = await loadMemory(store);
    loaded.store.sequence = state.sequence;
    for (const key of desired.keys()) loaded.pending.add(key);
    markChanged(keysChangedBetween(lastLoaded, loaded));
    lastLoaded = loaded;
    return loaded;
  };

  return {
    memory: () => memory,
    takeChangedElsewhere: () => {
      const keys = [...changedElsewhere];
      changedElsewhere = new Set();
      return keys;
    },
    forget: () => {
      memory = null;
    },
    follow: async (state, head) => after(await keeper.followHead(head, state)),
    refresh: async (state, head) => {
      after(await keeper.seedIfNeeded(head, state));
      if (memory !== null && isCurrent(memory.store, state)) {
        // No other manager has changed an object up to this mark.
        memory.store = { ...memory.store, attempted: state.attempted, mark: state.mark };
        return memory;
      }
      if (memory === null || !(await readChanges(memory, state))) memory = await readAll(state);
      return memory;
    },
  };
}

/** Whether both are of one seeded store whose files were read by the same rules, so that only changed objects differ. */
function isComparable(before: StoreState, now: StoreState): boolean {
  return now.seededFrom !== null && before.fleet === now.fleet && before.rules === now.rules;
}

/** Keys of all objects that can have changed if another manager has claimed a head since; none at the first load. */
function keysChangedBetween(before: Memory | null, now: Memory): string[] {
  if (before === null || before.store.sequence === now.store.sequence) return [];
  return [...before.applied.keys(), ...now.applied.keys()];
}
