import type { Draft } from './draft.ts';
import type { Write, WriteContext, Written } from './write.ts';

/** A write on its way: what is wished for, and how to tell whoever waits. */
export interface QueuedWrite {
  write: Write;
  context: WriteContext;
  resolve(written: Written): void;
  reject(error: unknown): void;
}

/** A request with the commit that fulfils it. */
export interface DraftedWrite {
  request: QueuedWrite;
  draft: Draft;
}
