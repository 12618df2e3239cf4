import type { SeederDependencies } from '../../ids/seeding/seeder.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import type { Reader, Source, SourceOrigin } from '../../source/source.ts';
import type { PassStore } from '../../store/store.ts';

/** What a pass works with. */
export interface PassDependencies extends SeederDependencies {
  reader: Reader;
  /** Null if the repository that is read is the origin itself. */
  origin: SourceOrigin | null;
  store: PassStore;
  defaults: AppDefaults;
  /** Whether a revision with any problem is refused as a whole. */
  strict: boolean;
  isFolderOnDisk: Source['isFolderOnDisk'];
  onProgress: OnProgress;
}

/** The progress of a pass: how many files it has read, or objects it has written to the store. */
export interface Progress {
  phase: 'reading' | 'applying';
  done: number;
  total: number;
}

/** Called often during a pass, so it must be fast. */
export type OnProgress = (progress: Progress) => void;
