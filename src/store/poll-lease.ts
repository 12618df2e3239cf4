/**
 * Which of the managers on one store asks origin by the clock; the others look at the store alone. It saves work and
 * nothing else: two that both take themselves for the holder ask twice, and whoever has another reason to ask does so
 * (docs/decisions/0011-one-asks-origin.md). No method rejects.
 */
export interface PollLease {
  /**
   * Whether this manager is to ask origin now: it holds the lease, nobody does, or the one who does has not renewed it for
   * long. True also where the store cannot be read: then each asks, as if there were no lease. One read.
   */
  isOurTurn(): Promise<boolean>;
  /**
   * Says that origin was reached and the store brought to what it has: renews the lease, or takes it where it is free or
   * was not renewed for long. Leaves it to another who holds it.
   */
  keep(): Promise<void>;
  /** Gives the lease up, where this manager holds it: the next one who looks takes it. */
  giveUp(): Promise<void>;
  /** Who held it at the last look; null for nobody, or where that is not known. */
  holder(): LeaseHolder | null;
}

export interface LeaseHolder {
  /** For people: the name of its machine, and the number of its process. */
  name: string;
  isThisOne: boolean;
}
