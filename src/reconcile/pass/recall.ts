import type { DesiredState } from '../../desired/state.ts';
import type { Head } from '../../source/source.ts';
import type { PassStore, StoreState } from '../../store/objects/port.ts';
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
  /** Returns whether another manager has changed the store since the last call. */
  takeChangedElsewhere(): boolean;
  /** Discards the memory, so that everything is read again: what the store took is not known. */
  forget(): void;
}

export function createRecall(
  store: PassStore,
  follower: PassDependencies['follower'],
  desired: DesiredState,
  keeper: PassDependencies['keeper'],
): Recall {
  const { refresh, ...loaded } = createLoaded(store, follower, desired);
  /** Seeding makes what was read outdated. */
  const after = (isSeeded: boolean): boolean => {
    if (isSeeded) loaded.forget();
    return isSeeded;
  };
  return {
    ...loaded,
    follow: async (state, head) => after(await keeper.followHead(head, state)),
    refresh: async (state, head) => {
      after(await keeper.seedIfNeeded(head, state));
      return refresh(state);
    },
  };
}

/** What was read from the store. */
interface Loaded extends Pick<Recall, 'memory' | 'takeChangedElsewhere' | 'forget'> {
  /** Reads what has changed up to this state, or all. */
  refresh(state: StoreState): Promise<Memory>;
}

function createLoaded(
  store: PassStore,
  follower: PassDependencies['follower'],
  desired: DesiredState,
): Loaded {
  let memory: Memory | null = null;
  /** What was read last; stays when `memory` is discarded. */
  let lastLoaded: Memory | null = null;
  let isChangedElsewhere = false;

  /** Resolves to false if the store cannot tell what has changed. */
  const readChanges = async (current: Memory, state: StoreState): Promise<boolean> => {
    const { mark } = current.store;
    if (mark === null || !isComparable(current.store, state)) return false;
    const changes = await follower.changedObjects(mark);
    if (changes === null) return false;
    if (applyStoreChanges(current, changes)) isChangedElsewhere = true;
    current.store = state;
    return true;
  };

  const readAll = async (state: StoreState): Promise<Memory> => {
    const loaded = await loadMemory(store);
    loaded.store.sequence = state.sequence;
    for (const key of desired.keys()) loaded.pending.add(key);
    // Another manager has claimed a head since.
    if (lastLoaded !== null && lastLoaded.store.sequence !== loaded.store.sequence) isChangedElsewhere = true;
    lastLoaded = loaded;
    return loaded;
  };

  return {
    memory: () => memory,
    takeChangedElsewhere: () => {
      const taken = isChangedElsewhere;
      isChangedElsewhere = false;
      return taken;
    },
    forget: () => {
      memory = null;
    },
    refresh: async (state) => {
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
