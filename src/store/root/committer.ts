import { Queue } from '../../async/queue.ts';
import { closedError, HoldfastError, kindOf } from '../../errors.ts';
import type { Change, Documents, FleetRoot, StagedChange } from './documents.ts';

/** A write to be made: new values of fields of the root, changes of other documents, and the result for the caller. */
export interface Draft<T> {
  /** Null if there is nothing to write. */
  fields: Partial<FleetRoot> | null;
  changes: readonly Change[];
  result: T;
}

/** What a committer needs besides the database. */
export interface CommitterOptions {
  /** Returns a random text that identifies one write. */
  newWriter(): string;
  /** Waits, longer with each attempt. */
  pause(attempt: number): Promise<void>;
  /** How many characters of changes a root carries itself; more are staged. */
  inlineLimit: number;
}

/**
 * Thrown when what was read is not of one moment: a document is newer than the root, or another server has answered.
 */
class Overtaken extends Error {}

/** Throws `Overtaken` if one of the documents is newer than the root. */
export function requireVersion(root: FleetRoot, documents: readonly { version: number }[]): void {
  if (documents.some(({ version }) => version > root.version)) throw new Overtaken('read it again');
}

/** How many writers a root remembers: after this many more writes, an unknown outcome can still be looked up. */
const RECENT_WRITERS = 64;
/** How many times a write is tried while other writes are faster, and a read while it is overtaken. */
const ATTEMPTS = 200;
/** How many times a swap is tried while its outcome is unknown. */
const SWAP_ATTEMPTS = 5;
/**
 * How many times a root is read again if another server returns one that is older than a root read before: about a
 * second. By then a new primary has caught up; if it has not, a backup was restored.
 */
const OLDER_HEAD_READS = 40;

/**
 * Makes writes and reads of several documents atomic (docs/decisions/0007-one-root-document.md). A write is the guarded
 * replacement of one document, the root. The root carries the changes of the write, which are copied to their documents
 * ("settled") before the next replacement.
 */
export class Committer {
  readonly #documents: Documents;
  readonly #options: CommitterOptions;
  readonly #queue = new Queue();
  /** The settling in progress, which all callers in this process share while one server answers. */
  #settling: { writer: string; term: number; done: Promise<void> } | null = null;
  #isClosed = false;
  /** The root that was read or written last, unless it was older than one before it. */
  #lastRoot = { version: 0, term: 0 };

  constructor(documents: Documents, options: CommitterOptions) {
    this.#documents = documents;
    this.#options = options;
  }

  /**
   * Reads the root, whose changes may not be settled yet. After an election it is not older than a root that was read
   * or written before, unless a backup was restored.
   */
  async root(): Promise<FleetRoot> {
    this.requireOpen();
    return this.#root();
  }

  async #root(): Promise<FleetRoot> {
    for (let count = 0; ; count += 1) {
      const term = this.#documents.term();
      const root = await this.#documents.readRoot();
      if (root === null) throw new HoldfastError('unavailable', 'the state document of the store is missing');
      const isOlder = root.version < this.#lastRoot.version;
      // From the same server, it is a reply that arrived late.
      if (isOlder && term === this.#lastRoot.term) return root;
      if (!isOlder || count === OLDER_HEAD_READS) {
        this.#lastRoot = { version: root.version, term };
        return root;
      }
      await this.#options.pause(count);
    }
  }

  /**
   * Writes the draft that `work` makes from the settled root; runs `work` again if another write was faster. Writes of
   * one process run one after another. Rejects with the error of `work`, or as `unavailable` if it is unknown whether
   * the write has happened.
   */
  async write<T>(work: (root: FleetRoot) => Promise<Draft<T>>): Promise<T> {
    this.requireOpen();
    return this.#queue.run(() =>
      this.#retry(async (root, term) => {
        const draft = await work(root);
        // A draft from documents that are older than the root would give out the same ids again.
        this.#requireTerm(term);
        return this.#tryWrite(root, draft, term);
      }),
    );
  }

  /**
   * Runs `work` on a settled root; runs it again if it throws `Overtaken` or another server has answered meanwhile. If
   * `work` keeps what it has read, it must drop what is of another `term` than the one that it gets.
   */
  async read<T>(work: (root: FleetRoot, term: number) => Promise<T>): Promise<T> {
    this.requireOpen();
    return this.#retry(async (root, term) => {
      const value = await work(root, term);
      this.#requireTerm(term);
      return { value };
    });
  }

  /** Throws `unavailable` once the store is closed. */
  requireOpen(): void {
    if (this.#isClosed) throw closedError();
  }

  /** Refuses later calls, and waits for earlier writes. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#queue.run(() => undefined);
  }

  /**
   * Runs `attempt` on a settled root until it succeeds. `attempt` gets the term in which the root was read, and
   * resolves to null if another write was faster.
   */
  async #retry<T>(attempt: (root: FleetRoot, term: number) => Promise<{ value: T } | null>): Promise<T> {
    for (let count = 0; count < ATTEMPTS; count += 1) {
      try {
        const term = this.#documents.term();
        const done = await attempt(await this.#settledRoot(term), term);
        if (done !== null) return done.value;
      } catch (error) {
        if (!(error instanceof Overtaken)) throw error;
      }
      await this.#options.pause(count);
    }
    const message = 'other managers keep changing the store; try again';
    throw new HoldfastError('unavailable', message);
  }

  /** Throws `Overtaken` unless one server has answered everything since `term` was read. */
  #requireTerm(term: number): void {
    if (this.#documents.term() !== term) throw new Overtaken('another server answers');
  }

  async #settledRoot(term: number): Promise<FleetRoot> {
    const root = await this.#root();
    if (!root.isSettled) await this.#settle(root, term);
    return root;
  }

  async #tryWrite<T>(root: FleetRoot, draft: Draft<T>, term: number): Promise<{ value: T } | null> {
    const { fields, changes, result } = draft;
    if (fields === null) return { value: result };
    const writer = this.#options.newWriter();
    const isSmall = isAtMost(this.#options.inlineLimit, changes);
    const next: FleetRoot = {
      ...root,
      ...fields,
      version: root.version + 1,
      writer,
      recent: [writer, ...root.recent].slice(0, RECENT_WRITERS),
      isSettled: changes.length === 0,
      changes: isSmall ? changes : null,
    };
    if (!isSmall) await this.#documents.stage(stagedChanges(next, changes));
    if (!(await this.#swap(root.version, next))) return null;
    if (next.version > this.#lastRoot.version) this.#lastRoot = { version: next.version, term };
    // The write has happened. If settling fails, the next read or write settles it.
    if (!next.isSettled) await this.#settle(next, term).catch(() => undefined);
    return { value: result };
  }

  /** Resolves to whether this write has replaced the root. Looks up an unknown outcome before it tries again. */
  async #swap(version: number, next: FleetRoot): Promise<boolean> {
    let failure: unknown = new HoldfastError('unavailable', 'the store does not confirm its last write');
    for (let attempt = 0; attempt < SWAP_ATTEMPTS; attempt += 1) {
      try {
        if (await this.#documents.swapRoot(version, next)) return true;
      } catch (error) {
        if (kindOf(error) !== 'unavailable') throw error;
        failure = error;
      }
      const outcome = outcomeOf(await this.#root(), version, next.writer);
      if (outcome !== 'open') return outcome === 'won';
      await this.#options.pause(attempt);
    }
    throw failure;
  }

  /**
   * Copies the changes of a root to their documents. Calls for the same write share one run, but only while it is in
   * progress and one server answers: a restored database, or a new primary that does not show the copies yet, needs it
   * again for a write that was settled before, and to repeat it does no harm.
   */
  async #settle(root: FleetRoot, term: number): Promise<void> {
    if (this.#settling?.writer !== root.writer || this.#settling.term !== term) {
      const done = this.#settleNow(root, term).finally(() => {
        if (this.#settling?.done === done) this.#settling = null;
      });
      this.#settling = { writer: root.writer, term, done };
    }
    await this.#settling.done;
  }

  async #settleNow({ version, writer, changes }: FleetRoot, term: number): Promise<void> {
    const found = changes ?? (await this.#documents.staged(writer));
    // Staged changes that are gone were settled by another manager; those that a new primary does not show yet would be
    // lost.
    if (changes === null) this.#requireTerm(term);
    await this.#documents.put(found);
    await this.#documents.settleRoot(version);
    if (changes === null) await this.#documents.dropStaged(version);
  }
}

/** Returns the outcome of a write that was to follow `version`, as a later read of the root shows it. */
function outcomeOf(
  { version: now, recent }: FleetRoot,
  version: number,
  writer: string,
): 'won' | 'lost' | 'open' {
  if (recent.includes(writer)) return 'won';
  // An older root is of a new primary that is behind: the next attempt waits until it has caught up.
  if (now <= version) return 'open';
  if (now <= version + RECENT_WRITERS) return 'lost';
  throw new HoldfastError(
    'unavailable',
    'it is unknown whether the store made the change; check before you repeat it',
  );
}

/** Whether the changes have at most `limit` characters as JSON. Stops early: they can be a whole fleet. */
function isAtMost(limit: number, changes: readonly Change[]): boolean {
  let size = 0;
  return changes.every((change) => {
    size += JSON.stringify(change).length;
    return size <= limit;
  });
}

function stagedChanges(root: FleetRoot, changes: readonly Change[]): StagedChange[] {
  const { version, writer } = root;
  return changes.map((change, index) => ({
    _id: `${writer}/${index}`,
    version,
    writer,
    change,
  }));
}
