import type { OperationKind } from '../protocol/history.ts';

/** An operation, as its act has it; or an ask, which gives no id. */
export interface Operation {
  /** Unix milliseconds. */
  at: number;
  actor: string;
  action: OperationKind | 'ask';
  /** The app or group; null for `prune-all`. */
  name: string | null;
  requestId: string;
  /** Of an `ask`: what was asked, in a sentence. */
  text?: string;
  /** Why, in the words of whoever asked for it, if they said. */
  reason?: string | null;
  /** The ids that it gave, by the name of the app or group. */
  ids: Record<string, number>;
}
