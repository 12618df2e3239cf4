import type { WorkerReport } from '../../protocol/report.ts';
import type { SendResult } from './link.ts';
import { pollDelay } from './pace.ts';

/** Why a report is made. One of a change is kept until it is sent; a periodic one is sent at once or not at all. */
export type ReportKind = 'change' | 'periodic';

/** Seconds after a change in which further ones join its report. */
const DEBOUNCE = 2;
const MAX_REPORTS = 100;
const MAX_BYTES = 1_000_000;
/** Waits after failures to send, in seconds. */
const RETRY = { interval: 5, retryAfter: null };

interface Entry {
  report: WorkerReport;
  kind: ReportKind;
  bytes: number;
}

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Decides when reports are made and sent, and keeps those of changes while the manager is away. Does no I/O: `now` is in
 * seconds, by a clock that never jumps; `random` is in [0, 1).
 */
export class Outbox {
  readonly #interval: number;
  #entries: Entry[] = [];
  #changedAt: number | null = null;
  #lastAt: number | null = null;
  /** Entries that are being sent. Others may be added or dropped meanwhile. */
  #sending: readonly Entry[] = [];
  #batchLimit = MAX_REPORTS;
  #failures = 0;
  #retryAt = 0;
  #dropped = 0;

  /** `interval`: seconds between periodic reports. The first report is one of a change. */
  constructor(interval: number) {
    this.#interval = interval;
  }

  /** How many reports of changes were never delivered. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Says that something changed that the manager should know. */
  noteChange(now: number): void {
    this.#changedAt ??= now;
  }

  /** Returns why a report is to be made now; null if none is. */
  due(now: number): ReportKind | null {
    if (this.#changeDueAt() <= now) return 'change';
    return this.#periodicDueAt() <= now ? 'periodic' : null;
  }

  /** Takes a report that was due. */
  put(kind: ReportKind, report: WorkerReport, now: number): void {
    // A newer report says all that an older periodic one does.
    this.#entries = this.#entries.filter((entry) => entry.kind === 'change');
    this.#entries.push({ report, kind, bytes: Buffer.byteLength(JSON.stringify(report)) });
    while (this.#entries.length > 1 && this.#isOverfull()) this.#drop(this.#entries.slice(0, 1));
    if (kind === 'change') this.#changedAt = null;
    this.#lastAt = now;
  }

  /** Returns what to send now, oldest first; nothing during the wait after a failure. */
  batch(now: number): readonly WorkerReport[] {
    const isWaiting = this.#failures > 0 && now < this.#retryAt;
    this.#sending = isWaiting ? [] : this.#entries.slice(0, this.#batchLimit);
    return this.#sending.map(({ report }) => report);
  }

  /** Says how sending the last batch ended. */
  settle(result: SendResult, now: number, random: number): void {
    const sent = this.#sending;
    this.#sending = [];
    if (result === 'failed') {
      this.#failures += 1;
      this.#retryAt = now + pollDelay({ ...RETRY, failures: this.#failures, random });
      this.#entries = this.#entries.filter(({ kind }) => kind === 'change');
      return;
    }
    this.#failures = 0;
    if (result === 'accepted') {
      this.#remove(sent);
      this.#batchLimit = Math.min(MAX_REPORTS, this.#batchLimit * 2);
    } else if (sent.length <= 1) {
      this.#drop(sent);
    } else {
      // One report that is refused must not block the others: the batch is halved until it stands alone.
      this.#batchLimit = Math.ceil(sent.length / 2);
    }
  }

  /** When `due` or `batch` next have something; infinity if nothing is planned. */
  nextAt(now: number): number {
    const sendAt = this.#failures > 0 ? this.#retryAt : now;
    const next = Math.min(
      this.#changeDueAt(),
      this.#periodicDueAt(),
      this.#entries.length === 0 ? NEVER : sendAt,
    );
    return Math.max(now, next);
  }

  #changeDueAt(): number {
    return this.#changedAt === null ? NEVER : this.#changedAt + DEBOUNCE;
  }

  #periodicDueAt(): number {
    return this.#lastAt === null ? NEVER : this.#lastAt + this.#interval;
  }

  #isOverfull(): boolean {
    const bytes = this.#entries.reduce((sum, entry) => sum + entry.bytes, 0);
    return this.#entries.length > MAX_REPORTS || bytes > MAX_BYTES;
  }

  #remove(gone: readonly Entry[]): void {
    this.#entries = this.#entries.filter((entry) => !gone.includes(entry));
  }

  /** Counts reports of changes that are lost; one that was dropped while it was sent may still have arrived. */
  #drop(gone: readonly Entry[]): void {
    const lost = gone.filter((entry) => entry.kind === 'change' && this.#entries.includes(entry));
    this.#dropped += lost.length;
    this.#remove(gone);
  }
}
