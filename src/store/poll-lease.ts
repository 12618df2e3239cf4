/**
 * Decides which of the managers on one store polls origin at intervals; the others only poll the store. The lease saves
 * work, and correctness does not depend on it: if two managers both take themselves for the holder, both poll, and a
 * manager with another reason to poll origin does so without the lease (docs/decisions/0011-one-manager-polls-origin.md). No
 * method rejects.
 */
export interface PollLease {
  /**
   * Resolves to true if this manager must poll origin now: it holds the lease, no manager does, or the holder has not
   * renewed it for too long. Also true if the store cannot be read: then each manager polls, as if there were no lease.
   * Costs one read of the store.
   */
  shouldPoll(): Promise<boolean>;
  /**
   * Records that this manager has reached origin and brought the store up to date: renews the lease, or takes it if it
   * is free or was not renewed for too long. Does nothing if another manager holds it.
   */
  renew(): Promise<void>;
  /** Gives up the lease if this manager holds it; the next manager that reads it takes it. */
  release(): Promise<void>;
  /** Returns the holder as of the last read; null if there was none, or it is unknown. */
  holder(): LeaseHolder | null;
}

export interface LeaseHolder {
  /** Its host name and process id, for display. */
  name: string;
  isThisOne: boolean;
}
