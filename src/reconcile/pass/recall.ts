import type { DesiredState } from '../../desired/state.ts';
import type { Head } from '../../source/source.ts';
import type { PassStore, StoreState } from '../../store/store.ts';
import type { Past } from '../past/past.ts';
import { isCurrent } from './latest-head.ts';
import { followChanges, loadMemory, type Memory } from './memory.ts';

/** What passes know of the store, and when they have to read it again. */
export interface Recall {
  /** Null before the store was read, and after it failed in the middle of something. */
  memory(): Memory | null;
  /**
   * What the store has. Where somebody else has changed it since, what changed is read, or everything where that cannot
   * be told. `state` was read before the head of the branch; its sequence is the one to claim from, whatever happens
   * meanwhile.
   */
  recall(state: StoreState, head: Head): Promise<Memory>;
  /** Returns the keys of objects that another manager may have changed since the last call. */
  takeChangedElsewhere(): string[];
  /** Says that it is not known what the store took: everything is read again. */
  forget(): void;
}

export function createRecall(store: PassStore, desired: DesiredState, past: Past): Recall {
  let memory: Memory | null = null;
  /** The last memory, also when it is not to be trusted any more. */
  let previous: Memory | null = null;
  let changedElsewhere = new Set<string>();

  const markChanged = (keys: Iterable<string>): void => {
    for (const key of keys) changedElsewhere.add(key);
  };

  /** Whether it could be done. */
  const catchUp = async (known: Memory, state: StoreState): Promise<boolean> => {
    const { mark } = known.store;
    if (mark === null || !isSameKind(known.store, state)) return false;
    const changes = await store.changedObjects(mark);
    if (changes === null) return false;
    markChanged(followChanges(known, changes));
    known.store = state;
    return true;
  };

  const readAll = async (state: StoreState): Promise<Memory> => {
    const loaded = await loadMemory(store);
    loaded.store.sequence = state.sequence;
    for (const key of desired.keys()) loaded.pending.add(key);
    markChanged(othersChanged(previous, loaded));
    previous = loaded;
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
    recall: async (state, head) => {
      // What devices saw in the past comes first: it can make what is stored outdated.
      if (await past.takeOver(head, state)) {
        // It can also raise the id of an object that stays as it is.
        markChanged(memory?.applied.keys() ?? []);
        memory = null;
      }
      if (memory !== null && isCurrent(memory.store, state)) {
        // Nobody else has changed an object up to this moment.
        memory.store = { ...memory.store, attempted: state.attempted, mark: state.mark };
        return memory;
      }
      if (memory === null || !(await catchUp(memory, state))) memory = await readAll(state);
      return memory;
    },
  };
}

/**
 * Whether both are of one fleet, seeded, and read by the same rules: contents that did not change mean what they meant.
 */
function isSameKind(before: StoreState, now: StoreState): boolean {
  return now.seededFrom !== null && before.fleet === now.fleet && before.rules === now.rules;
}

/** Keys of all that may be another now, where somebody else has claimed since; empty for the first look. */
function othersChanged(before: Memory | null, now: Memory): string[] {
  if (before === null || before.store.sequence === now.store.sequence) return [];
  return [...before.applied.keys(), ...now.applied.keys()];
}
