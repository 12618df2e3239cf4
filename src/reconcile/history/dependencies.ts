import type { Faults } from '../../faults.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import type { Reader } from '../../source/source.ts';
import type { HistoryStore } from '../../store/history/port.ts';
import type { StoreProgress } from '../../store/objects/port.ts';
import type { Memory } from '../pass/memory.ts';

/** What the history is indexed with. */
export interface HistoryDependencies {
  reader: Reader;
  store: HistoryStore;
  progress: StoreProgress;
  defaults: AppDefaults;
  /** Path of the desired-state folder inside the repository. */
  folder: string;
  /** The address of the repository's page (`webAddressOf`); null if it is not known. */
  forge: string | null;
  /** What passes remember of the store; null before the first pass. */
  memory(): Memory | null;
  /** Called with each failure; what failed is tried again with the next pass. */
  onFailure(error: unknown): void;
  /** Called when it succeeds again. */
  onRecovered(): void;
  /** Returns the time in Unix milliseconds. */
  now(): number;
  faults: Faults;
}
