import type { AppDefaults } from '../../desired/app.ts';
import type { Faults } from '../../faults.ts';
import type { IdsRecord, Reader, Source, SourceOrigin } from '../../source/source.ts';
import type { PassStore } from '../../store/store.ts';

/** What a pass works with. */
export interface PassDependencies {
  reader: Reader;
  /** Null where the repository that is read is the origin. */
  origin: SourceOrigin | null;
  record: IdsRecord;
  store: PassStore;
  defaults: AppDefaults;
  /** Whether a revision with any problem is refused whole. */
  strict: boolean;
  isFolderMade: Source['isFolderMade'];
  /** Unix milliseconds. */
  now(): number;
  faults: Faults;
  onProgress: TellProgress;
  /** Called when ids of the past were taken over: any id of any object may have risen. */
  onSeeded(): void;
}

/** How far a pass is: files that were read, or objects that were written to the store. */
export interface Progress {
  phase: 'reading' | 'applying';
  done: number;
  total: number;
}

/** Called often during a pass, so it has to be quick. */
export type TellProgress = (progress: Progress) => void;
