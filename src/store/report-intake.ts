import { Queue } from '../async/queue.ts';
import type { Report } from '../protocol/report.ts';

/** The reports of one call, and the time of the call in Unix milliseconds. */
export interface ReportList {
  reports: readonly Report[];
  at: number;
}

/** A write that has not begun; lists can still join it. */
interface Batch {
  lists: ReportList[];
  /** The number of reports in all lists. */
  size: number;
  done: Promise<void>;
}

/** The most reports in a batch. Lists are not split, so a longer list is a batch of its own. */
const BATCH_SIZE = 1000;

/**
 * Combines the reports of many calls into few writes, because there can be thousands of devices and each write waits
 * for a disk or a server. Lists that arrive while a batch is written share the next batch.
 */
export class ReportIntake {
  readonly #write: (take: () => readonly ReportList[]) => Promise<void>;
  readonly #queue = new Queue();
  #open: Batch | null = null;

  /** `write` must store all lists that `take` returns, or none. Once it has called `take`, no list joins the batch. */
  constructor(write: (take: () => readonly ReportList[]) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves when the list is stored; rejects if it is not, or if that is unknown. */
  insert(reports: readonly Report[], at: number): Promise<void> {
    const open = this.#open;
    const isFull = open !== null && open.size > 0 && open.size + reports.length > BATCH_SIZE;
    const batch = open === null || isFull ? this.#begin() : open;
    batch.lists.push({ reports, at });
    batch.size += reports.length;
    return batch.done;
  }

  /** Resolves when the writes of all earlier lists have succeeded or failed. */
  idle(): Promise<void> {
    return this.#queue.run(() => undefined);
  }

  #begin(): Batch {
    const lists: ReportList[] = [];
    const close = (): void => {
      if (this.#open === batch) this.#open = null;
    };
    const take = (): readonly ReportList[] => {
      close();
      return lists;
    };
    // Closed here too, since `write` can fail before it calls `take`.
    const done = this.#queue.run(() => this.#write(take)).finally(close);
    const batch = { lists, size: 0, done };
    this.#open = batch;
    return batch;
  }
}
