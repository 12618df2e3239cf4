import { Queue } from '../async/queue.ts';
import type { Report } from './report.ts';

/** The reports of one call, and when it came (Unix milliseconds). */
export interface ReportList {
  reports: readonly Report[];
  at: number;
}

/** A write that has not begun: lists may join it. */
interface Batch {
  lists: ReportList[];
  /** How many reports. */
  size: number;
  done: Promise<void>;
}

/** A batch has no more reports, but for a longer list, which is never split. */
const BATCH_SIZE = 1000;

/**
 * Batches reports. Lists that come while a batch is written share the next one: devices come by the thousand, and each
 * write waits for a disk or a server.
 */
export class ReportIntake {
  readonly #write: (take: () => readonly ReportList[]) => Promise<void>;
  readonly #queue = new Queue();
  #open: Batch | null = null;

  /** `write` keeps all lists that `take` gives it, or none. After that call none joins them. */
  constructor(write: (take: () => readonly ReportList[]) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves when the list is kept; rejects when it is not, or when that is not known. */
  insert(reports: readonly Report[], at: number): Promise<void> {
    const open = this.#open;
    const isFull = open !== null && open.size > 0 && open.size + reports.length > BATCH_SIZE;
    const batch = open === null || isFull ? this.#begin() : open;
    batch.lists.push({ reports, at });
    batch.size += reports.length;
    return batch.done;
  }

  /** Resolves when all lists that came before are written, or have failed. */
  idle(): Promise<void> {
    return this.#queue.run(() => undefined);
  }

  #begin(): Batch {
    const lists: ReportList[] = [];
    const end = (): void => {
      if (this.#open === batch) this.#open = null;
    };
    const take = (): readonly ReportList[] => {
      end();
      return lists;
    };
    // `write` may fail before it calls `take`.
    const done = this.#queue.run(() => this.#write(take)).finally(end);
    const batch = { lists, size: 0, done };
    this.#open = batch;
    return batch;
  }
}
