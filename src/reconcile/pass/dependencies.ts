import type { Faults } from '../../faults.ts';
import type { Keeper } from '../../ids/keeper/keeper.ts';
import type { RecordRef } from '../../ids/record-ref.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import type { Reader, Source, SourceOrigin } from '../../source/source.ts';
import type { PassStore } from '../../store/objects/port.ts';
import type { Follower } from '../follower.ts';

/** What a pass works with. */
export interface PassDependencies {
  keeper: Pick<Keeper, 'seedIfNeeded' | 'followHead' | 'takeSeeding' | 'addFirstCommit'>;
  record: Pick<RecordRef, 'isCurrent'>;
  reader: Reader;
  /** Null if the repository that is read is the origin itself. */
  origin: SourceOrigin | null;
  store: PassStore;
  follower: Pick<Follower, 'state' | 'changedObjects'>;
  defaults: AppDefaults;
  /** Whether a revision with any problem is refused as a whole. */
  strict: boolean;
  isFolderOnDisk: Source['isFolderOnDisk'];
  /** Unix milliseconds. */
  now(): number;
  faults: Faults;
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
