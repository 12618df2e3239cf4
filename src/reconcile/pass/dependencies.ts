import type { Faults } from '../../faults.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import type { IdsRecord, Reader, Source, SourceOrigin } from '../../source/source.ts';
import type { PassStore } from '../../store/store.ts';

/** What a pass works with. */
export interface PassDependencies {
  reader: Reader;
  /** Null if the repository that is read is the origin itself. */
  origin: SourceOrigin | null;
  record: IdsRecord;
  store: PassStore;
  defaults: AppDefaults;
  /** Whether a revision with any problem is refused as a whole. */
  strict: boolean;
  isFolderOnDisk: Source['isFolderOnDisk'];
  /** Unix milliseconds. */
  now(): number;
  faults: Faults;
  onProgress: OnProgress;
  /**
   * Called when the store was seeded: the ids of all objects may have risen. `isServed`: devices get them at once, since
   * a revision was applied before.
   */
  onSeeded(isServed: boolean): void;
}

/** The progress of a pass: how many files it has read, or objects it has written to the store. */
export interface Progress {
  phase: 'reading' | 'applying';
  done: number;
  total: number;
}

/** Called often during a pass, so it must be fast. */
export type OnProgress = (progress: Progress) => void;
