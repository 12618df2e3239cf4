import type { LeaseHolder, PollLease } from '../poll-lease.ts';
import type { Documents, LeaseDocument } from './documents.ts';

export interface DocumentLeaseOptions {
  documents: Pick<Documents, 'readLease' | 'swapLease'>;
  /** A random text that no other process has. */
  id: string;
  /** What people are told. */
  name: string;
  /** Milliseconds between two looks at origin. */
  interval: number;
  /** Milliseconds that pass on this machine; no other machine's time is compared with it. */
  elapsed(): number;
}

/** After this many intervals without a renewal, another manager takes the lease. */
const PATIENCE = 3;
/** How often giving up begins again because the lease was changed meanwhile. */
const ATTEMPTS = 3;

/** The lease in a document of the store: each change of it is guarded by its version, which each renewal raises. */
export class DocumentLease implements PollLease {
  readonly #options: DocumentLeaseOptions;
  /** The lease as it was seen last. */
  #last: LeaseDocument | null = null;
  /** Whether the last look failed. */
  #isAway = false;
  /** The newest version, and since when it has been there by our own time. */
  #seen: { version: number; since: number } | null = null;
  /** The version that our last renewal was to replace, as long as nobody knows whether it did, or still will. */
  #unsure: number | null = null;

  constructor(options: DocumentLeaseOptions) {
    this.#options = options;
  }

  async isOurTurn(): Promise<boolean> {
    return this.#look().then(
      (lease) => lease === null || this.#mayTake(lease),
      () => true,
    );
  }

  async keep(): Promise<void> {
    await this.#tryKeep().catch(() => undefined);
  }

  async giveUp(): Promise<void> {
    for (let attempt = 0; attempt < ATTEMPTS && this.#mayHold(); attempt += 1) {
      // Where the store does not answer, the others wait until the lease counts as left.
      if (await this.#tryGiveUp().catch(() => true)) return;
    }
  }

  holder(): LeaseHolder | null {
    const holder = this.#last?.holder ?? null;
    return this.#isAway || holder === null
      ? null
      : { name: holder.name, isThisOne: this.#isOurs(this.#last) };
  }

  async #look(): Promise<LeaseDocument | null> {
    try {
      const lease = await this.#options.documents.readLease();
      this.#isAway = false;
      this.#see(lease);
      return lease;
    } catch (error) {
      this.#isAway = true;
      throw error;
    }
  }

  /** A version that was seen before keeps its time, also after looks that failed. */
  #see(lease: LeaseDocument | null): void {
    this.#last = lease;
    if (lease === null || lease.version === this.#seen?.version) return;
    if (this.#unsure !== null && lease.version > this.#unsure) this.#unsure = null;
    this.#seen = { version: lease.version, since: this.#options.elapsed() };
  }

  async #tryKeep(): Promise<void> {
    const lease = await this.#look();
    if (lease === null || !this.#mayTake(lease)) return;
    const { id, name, interval } = this.#options;
    this.#unsure = lease.version;
    await this.#swap(lease, { id, name, interval });
  }

  /** Whether there is nothing more to do. A new version is a fence: a renewal that is still on its way finds another one. */
  async #tryGiveUp(): Promise<boolean> {
    const lease = await this.#look();
    return lease === null || !this.#mayHold() || this.#swap(lease, null);
  }

  async #swap({ _id, version }: LeaseDocument, holder: LeaseDocument['holder']): Promise<boolean> {
    const next = { _id, version: version + 1, holder };
    const isSwapped = await this.#options.documents.swapLease(version, next);
    if (isSwapped) this.#see(next);
    return isSwapped;
  }

  #mayTake(lease: LeaseDocument): boolean {
    if (lease.holder === null || this.#isOurs(lease)) return true;
    // Managers may have different intervals: nobody loses the lease for asking less often than another one would.
    const patience = PATIENCE * Math.max(lease.holder.interval, this.#options.interval);
    return this.#options.elapsed() - (this.#seen?.since ?? Number.POSITIVE_INFINITY) >= patience;
  }

  #mayHold(): boolean {
    return this.#isOurs(this.#last) || this.#unsure !== null;
  }

  #isOurs(lease: LeaseDocument | null): boolean {
    return lease?.holder?.id === this.#options.id;
  }
}
