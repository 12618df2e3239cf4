import type { OperationKind } from '../protocol/history.ts';

/** An operation, as its act has it. */
export interface Operation {
  /** Unix milliseconds. */
  at: number;
  actor: string;
  action: OperationKind;
  /** The app or group; null for `prune-all`. */
  name: string | null;
  requestId: string;
  /** Why, in the words of whoever asked for it, if they said. */
  reason?: string | null;
  /** The ids that it gave, by the name of the app or group. */
  ids: Record<string, number>;
}
