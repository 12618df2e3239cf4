import type { Draft } from './draft.ts';
import type { WriteRequest, Written } from './write.ts';

/** A request, and how to tell the caller what became of it. */
export interface QueuedWrite extends WriteRequest {
  resolve(written: Written): void;
  reject(error: unknown): void;
}

/** A request and the commit that is to carry it out. */
export interface DraftedWrite {
  request: QueuedWrite;
  draft: Draft;
}
