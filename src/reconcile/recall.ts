import type { DesiredState } from '../desired/state.ts';
import type { Head } from '../source/source.ts';
import type { Store, StoreState } from '../store/store.ts';
import { isCurrent } from './latest-head.ts';
import { loadMemory, type Memory } from './memory.ts';
import type { Past } from './past.ts';

/** What passes know of the store, and when they have to read it again. */
export interface Recall {
  /** Null before the store was read, and after it failed in the middle of something. */
  memory(): Memory | null;
  /**
   * What the store has, read again where somebody else has changed it since; `followed` are the keys of what may be
   * another now. `state` was read before the head of the branch; its sequence is the one to claim from, whatever happens
   * meanwhile.
   */
  recall(state: StoreState, head: Head): Promise<{ known: Memory; followed: string[] }>;
  /** Says that nobody knows what the store took: it is read again. */
  forget(): void;
}

export function createRecall(store: Store, desired: DesiredState, past: Past): Recall {
  let memory: Memory | null = null;
  /** The last memory, also when it is not to be trusted any more. */
  let previous: Memory | null = null;

  return {
    memory: () => memory,
    forget: () => {
      memory = null;
    },
    recall: async (state, head) => {
      if (memory !== null && isCurrent(memory.store, state)) {
        memory.store.attempted = state.attempted;
        return { known: memory, followed: [] };
      }
      // What devices saw in the past comes first: it can make what is stored outdated.
      await past.takeOver(head.revision);
      const loaded = await loadMemory(store);
      loaded.store.sequence = state.sequence;
      for (const key of desired.keys()) loaded.pending.add(key);
      const followed = othersChanged(previous, loaded);
      memory = previous = loaded;
      return { known: loaded, followed };
    },
  };
}

/** Keys of all that may be another now, where somebody else has claimed since; empty for the first look. */
function othersChanged(before: Memory | null, now: Memory): string[] {
  if (before === null || before.store.sequence === now.store.sequence) return [];
  return [...before.applied.keys(), ...now.applied.keys()];
}
