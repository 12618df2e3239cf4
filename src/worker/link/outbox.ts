import type { WorkerReport } from '../../protocol/report.ts';
import type { SendResult } from './link.ts';
import { pollDelay } from './pace.ts';

/** Seconds after a change in which further ones join its report. */
const DEBOUNCE = 2;
/** Waits after failures to send, in seconds. */
const RETRY = { interval: 5, retryAfter: null };

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Decides when reports are made and sent, and keeps the newest until it is sent: it says how things are, whatever came
 * before. Does no I/O: `now` is in seconds, by a clock that never jumps; `random` is in [0, 1).
 */
export class Outbox {
  readonly #interval: number;
  #waiting: WorkerReport | null = null;
  /** The one that is being sent. Another may replace it meanwhile. */
  #sending: WorkerReport | null = null;
  #changedAt: number | null = null;
  #lastAt: number | null = null;
  #failures = 0;
  #retryAt = 0;
  #dropped = 0;

  /** `interval`: seconds between reports without a change. The first report is one of a change. */
  constructor(interval: number) {
    this.#interval = interval;
  }

  /** How many reports were never delivered: a newer one replaced them, or the manager refused them. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Says that something changed that the manager should know. */
  noteChange(now: number): void {
    this.#changedAt ??= now;
  }

  /** Whether a report is to be made now. */
  isDue(now: number): boolean {
    return this.#dueAt() <= now;
  }

  /** Takes a report that was due. */
  put(report: WorkerReport, now: number): void {
    if (this.#waiting !== null && this.#waiting !== this.#sending) this.#dropped += 1;
    this.#waiting = report;
    this.#changedAt = null;
    this.#lastAt = now;
  }

  /** Returns what to send now; null if there is nothing, or during the wait after a failure. */
  next(now: number): WorkerReport | null {
    this.#sending = this.#failures > 0 && now < this.#retryAt ? null : this.#waiting;
    return this.#sending;
  }

  /** Says how sending it ended. */
  settle(result: SendResult, now: number, random: number): void {
    const isNewest = this.#sending === this.#waiting;
    this.#sending = null;
    if (result === 'refused' || (result === 'failed' && !isNewest)) this.#dropped += 1;
    this.#failures = result === 'failed' ? this.#failures + 1 : 0;
    if (result === 'failed') this.#retryAt = now + pollDelay({ ...RETRY, failures: this.#failures, random });
    else if (isNewest) this.#waiting = null;
  }

  /** When there is something to make or to send; infinity if nothing is planned. */
  nextAt(now: number): number {
    const sendAt = this.#failures > 0 ? this.#retryAt : now;
    return Math.max(now, Math.min(this.#dueAt(), this.#waiting === null ? NEVER : sendAt));
  }

  #dueAt(): number {
    const changeAt = this.#changedAt === null ? NEVER : this.#changedAt + DEBOUNCE;
    return Math.min(changeAt, this.#lastAt === null ? NEVER : this.#lastAt + this.#interval);
  }
}
