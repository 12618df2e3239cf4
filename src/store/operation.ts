/** The operations that raise ids without a commit. */
export const OPERATIONS = ['restart', 'prune', 'prune-all'] as const;

/** An entry of the operations log. */
export interface OperationEntry {
  /** Rises with every entry. */
  id: number;
  /** Unix milliseconds. */
  at: number;
  actor: string;
  action: (typeof OPERATIONS)[number];
  /** The app or group; null for `prune-all`. */
  name: string | null;
  requestId: string;
  /** Why, in the words of whoever asked for it; null if nobody said. */
  reason: string | null;
  /** The ids that it gave, by the name of the app or group. */
  ids: Record<string, number>;
}

/** An entry that the store has not given an id yet. */
export type NewOperation = Omit<OperationEntry, 'id' | 'reason'> & { reason?: string | null };
