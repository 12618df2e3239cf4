import { Queue } from '../../async/queue.ts';
import { HoldfastError, kindOf } from '../../errors.ts';
import type { Change, Documents, Head, HeadId, StagedChange } from './documents.ts';

/** What a write wants: other fields of the head, changes of other documents, and what its caller gets. */
export interface Draft<H extends Head, T> {
  /** Null: there is nothing to write. */
  fields: Partial<H> | null;
  changes: readonly Change[];
  result: T;
}

/** What committing needs besides the database. */
export interface CommitterOptions {
  /** Makes a random text that no other write has. */
  newWriter(): string;
  /** Waits a little longer from attempt to attempt. */
  pause(attempt: number): Promise<void>;
  /** Characters of changes that a head carries itself; more are staged. */
  inlineLimit: number;
}

/** Thrown by reads that meet a document of a later version than their head. */
class Overtaken extends Error {}

/** Throws `Overtaken` where one of the documents is younger than the head. */
export function requireVersion(head: Head, documents: readonly { version: number }[]): void {
  if (documents.some(({ version }) => version > head.version)) throw new Overtaken('read it again');
}

/** How many writers a head remembers: after this many more writes, an unknown outcome can still be looked up. */
const RECENT = 64;
/** How often a write begins again because another one was faster, and a read because it was overtaken. */
const ATTEMPTS = 200;
/** How often a swap of unknown outcome is asked for again. */
const SWAPS = 5;
/**
 * How often a head is read again when another server returns one that is older than one read before: about a second. By
 * then a new primary has caught up; if it has not, a backup was restored.
 */
const OLDER_HEADS = 40;

/**
 * Writes and reads that are atomic although they touch several documents (docs/decisions/0007-one-head.md). A write is
 * the replacement of one head document under a guard; the head carries the changes, which are in their places before
 * the next replacement.
 */
export class Committer<H extends Head> {
  readonly #documents: Documents;
  readonly #id: HeadId;
  readonly #options: CommitterOptions;
  readonly #queue = new Queue();
  /** One settling for each write, whoever asks in this process. */
  #settling: { writer: string; done: Promise<void> } | null = null;
  /** The latest head that was read. */
  #seen = { version: 0, term: 0 };

  constructor(documents: Documents, id: HeadId, options: CommitterOptions) {
    this.#documents = documents;
    this.#id = id;
    this.#options = options;
  }

  /**
   * The head as it is; its changes may not be in their places yet. After an election it is not older than one read
   * before, unless a backup was restored.
   */
  async head(): Promise<H> {
    for (let count = 0; ; count += 1) {
      const term = this.#documents.term();
      const head = await this.#documents.readHead<H>(this.#id);
      if (head === null) throw new HoldfastError('unavailable', 'the state document of the store is missing');
      const isOlder = head.version < this.#seen.version;
      // Of one server, it is a reply that came late.
      if (isOlder && term === this.#seen.term) return head;
      if (!isOlder || count === OLDER_HEADS) {
        this.#seen = { version: head.version, term };
        return head;
      }
      await this.#options.pause(count);
    }
  }

  /**
   * Runs `work` on the head until its draft is written, or refused by an error of its own. Writes of one process
   * wait for one another. Rejects as `unavailable` where it is not known whether the write has happened.
   */
  write<T>(work: (head: H) => Promise<Draft<H, T>>): Promise<T> {
    return this.#queue.run(() =>
      this.#again(async (head, term) => {
        const draft = await work(head);
        // A draft on documents that are older than the head would give ids again.
        this.#requireTerm(term);
        return this.#tryWrite(head, draft, term);
      }),
    );
  }

  /**
   * Runs `work` on a head whose changes are in their places, again while it throws `Overtaken`, or another server
   * answered meanwhile. What it has read in another term than the one that it gets is of no use to it any more.
   */
  read<T>(work: (head: H, term: number) => Promise<T>): Promise<T> {
    return this.#again(async (head, term) => {
      const value = await work(head, term);
      this.#requireTerm(term);
      return { value };
    });
  }

  /** Waits for the writes that were called before. */
  async idle(): Promise<void> {
    await this.#queue.run(() => undefined);
  }

  /** `attempt` resolves to null where another write was faster; it gets the term in which its head was read. */
  async #again<T>(attempt: (head: H, term: number) => Promise<{ value: T } | null>): Promise<T> {
    for (let count = 0; count < ATTEMPTS; count += 1) {
      try {
        const term = this.#documents.term();
        const done = await attempt(await this.#settled(term), term);
        if (done !== null) return done.value;
      } catch (error) {
        if (!(error instanceof Overtaken)) throw error;
      }
      await this.#options.pause(count);
    }
    const message = 'other managers keep changing the store; try again';
    throw new HoldfastError('unavailable', message);
  }

  /** Throws `Overtaken` where not everything since that term was told by one server. */
  #requireTerm(term: number): void {
    if (this.#documents.term() !== term) throw new Overtaken('another server answers');
  }

  async #settled(term: number): Promise<H> {
    const head = await this.head();
    if (!head.isSettled) await this.#settle(head, term);
    return head;
  }

  async #tryWrite<T>(head: H, draft: Draft<H, T>, term: number): Promise<{ value: T } | null> {
    const { fields, changes, result } = draft;
    if (fields === null) return { value: result };
    const writer = this.#options.newWriter();
    const isSmall = JSON.stringify(changes).length <= this.#options.inlineLimit;
    const next: H = {
      ...head,
      ...fields,
      version: head.version + 1,
      writer,
      recent: [writer, ...head.recent].slice(0, RECENT),
      isSettled: changes.length === 0,
      changes: isSmall ? changes : null,
    };
    if (!isSmall) await this.#documents.stage(staged(next, changes));
    if (!(await this.#swap(head.version, next))) return null;
    // The write has happened. If settling fails, whoever comes next does it.
    if (!next.isSettled) await this.#settle(next, term).catch(() => undefined);
    return { value: result };
  }

  /** Whether this very write replaced the head. An unknown outcome is looked up before it is asked for again. */
  async #swap(version: number, next: H): Promise<boolean> {
    let unknown: unknown = new HoldfastError('unavailable', 'the store does not confirm its last write');
    for (let attempt = 0; attempt < SWAPS; attempt += 1) {
      try {
        if (await this.#documents.swapHead(version, next)) return true;
      } catch (error) {
        if (kindOf(error) !== 'unavailable') throw error;
        unknown = error;
      }
      const fate = fateOf(await this.head(), version, next.writer);
      if (fate !== 'open') return fate === 'won';
      await this.#options.pause(attempt);
    }
    throw unknown;
  }

  /**
   * Brings the changes of a head to their places; once at a time for each write. Again does no harm, and nothing says
   * that it is not needed: a database that was restored can be at a write that was settled before.
   */
  async #settle(head: Head, term: number): Promise<void> {
    if (this.#settling?.writer !== head.writer) {
      const done = this.#settleNow(head, term).finally(() => {
        if (this.#settling?.done === done) this.#settling = null;
      });
      this.#settling = { writer: head.writer, done };
    }
    await this.#settling.done;
  }

  async #settleNow({ version, writer, changes }: Head, term: number): Promise<void> {
    const found = changes ?? (await this.#documents.staged(writer));
    // What is not there any more was settled by somebody else; what is not there yet would be lost.
    if (changes === null) this.#requireTerm(term);
    await this.#documents.put(found);
    await this.#documents.settleHead(this.#id, version);
    if (changes === null) await this.#documents.dropStaged(this.#id, version);
  }
}

/** What became of a write that was to follow `version`, as a later read of the head shows. */
function fateOf({ version: now, recent }: Head, version: number, writer: string): 'won' | 'lost' | 'open' {
  if (recent.includes(writer)) return 'won';
  if (now === version) return 'open';
  if (now <= version + RECENT) return 'lost';
  throw new HoldfastError(
    'unavailable',
    'it is unknown whether the store made the change; check before you repeat it',
  );
}

function staged(head: Head, changes: readonly Change[]): StagedChange[] {
  const { _id, version, writer } = head;
  return changes.map((change, index) => ({
    _id: `${writer}/${index}`,
    head: _id,
    version,
    writer,
    change,
  }));
}
