import type { LeaseHolder, PollLease } from '../poll-lease.ts';
import type { Documents, LeaseDocument } from './documents.ts';

export interface DocumentLeaseOptions {
  documents: Pick<Documents, 'readLease' | 'swapLease'>;
  /** A random text that identifies this process. */
  id: string;
  /** Names this manager in the status (see `LeaseHolder`). */
  name: string;
  /** Milliseconds between two polls of origin. */
  interval: number;
  /** A clock in milliseconds, which is never compared with that of another machine. */
  elapsed(): number;
}

/** After this many intervals without a renewal, another manager takes the lease. */
const PATIENCE = 3;
/** How many times giving up is tried while others change the lease. */
const ATTEMPTS = 3;

/**
 * The lease in a document of the store. Each change, also a renewal, raises the document's version and is guarded by
 * it.
 */
export class DocumentLease implements PollLease {
  readonly #options: DocumentLeaseOptions;
  /** The lease as it was read last. */
  #last: LeaseDocument | null = null;
  /** Whether the last read failed. */
  #isAway = false;
  /** The newest version, and when we first saw it, by our own clock. */
  #seen: { version: number; since: number } | null = null;
  /** The version that our last renewal was to replace, while it is unknown whether it did, or still will. */
  #unconfirmed: number | null = null;

  constructor(options: DocumentLeaseOptions) {
    this.#options = options;
  }

  async shouldPoll(): Promise<boolean> {
    return this.#read().then(
      (lease) => lease === null || this.#canTake(lease),
      () => true,
    );
  }

  async renew(): Promise<void> {
    await this.#tryRenew().catch(() => undefined);
  }

  async release(): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS && this.#mayHold(); attempt += 1) {
      // If the store does not answer, the other managers wait until the lease has expired.
      if (await this.#tryGiveUp().catch(() => true)) return;
    }
  }

  holder(): LeaseHolder | null {
    const holder = this.#last?.holder ?? null;
    return this.#isAway || holder === null
      ? null
      : { name: holder.name, isThisOne: this.#isOurs(this.#last) };
  }

  async #read(): Promise<LeaseDocument | null> {
    try {
      const lease = await this.#options.documents.readLease();
      this.#isAway = false;
      this.#note(lease);
      return lease;
    } catch (error) {
      this.#isAway = true;
      throw error;
    }
  }

  /** A version keeps the time at which it was first seen, even if reads fail in between. */
  #note(lease: LeaseDocument | null): void {
    this.#last = lease;
    if (lease === null || lease.version === this.#seen?.version) return;
    if (this.#unconfirmed !== null && lease.version > this.#unconfirmed) this.#unconfirmed = null;
    this.#seen = { version: lease.version, since: this.#options.elapsed() };
  }

  async #tryRenew(): Promise<void> {
    const lease = await this.#read();
    if (lease === null || !this.#canTake(lease)) return;
    const { id, name, interval } = this.#options;
    this.#unconfirmed = lease.version;
    await this.#swap(lease, { id, name, interval });
  }

  /**
   * Resolves to whether nothing more needs to be done. The new version is a fence, too: a renewal that is still on its
   * way no longer finds the version that it replaces.
   */
  async #tryGiveUp(): Promise<boolean> {
    const lease = await this.#read();
    return lease === null || !this.#mayHold() || this.#swap(lease, null);
  }

  async #swap({ _id, version }: LeaseDocument, holder: LeaseDocument['holder']): Promise<boolean> {
    const next = { _id, version: version + 1, holder };
    const isSwapped = await this.#options.documents.swapLease(version, next);
    if (isSwapped) this.#note(next);
    return isSwapped;
  }

  #canTake(lease: LeaseDocument): boolean {
    if (lease.holder === null || this.#isOurs(lease)) return true;
    // Intervals can differ: a holder must not lose the lease because it polls less often than this manager would.
    const patience = PATIENCE * Math.max(lease.holder.interval, this.#options.interval);
    return this.#options.elapsed() - (this.#seen?.since ?? Number.POSITIVE_INFINITY) >= patience;
  }

  #mayHold(): boolean {
    return this.#isOurs(this.#last) || this.#unconfirmed !== null;
  }

  #isOurs(lease: LeaseDocument | null): boolean {
    return lease?.holder?.id === this.#options.id;
  }
}
