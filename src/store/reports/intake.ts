import { forEachYielding } from '../../async/pace.ts';
import { Queue } from '../../async/queue.ts';
import type { Report } from '../../protocol/report.ts';

/** A report, and the JSON of it that is stored. */
export interface SerializedReport {
  report: Report;
  body: string;
}

/** The reports of one call, and the time of the call in Unix milliseconds. */
export interface ReportList {
  reports: readonly SerializedReport[];
  at: number;
}

/** A write that has not begun; lists can still join it. */
interface Batch {
  lists: ReportList[];
  /** The number of reports in all lists. */
  size: number;
  /** The bytes of their JSON. */
  bytes: number;
  done: Promise<void>;
}

/** The most reports in a batch, and the most bytes of their JSON. Lists are not split, so a longer list is a batch of its own. */
const BATCH_SIZE = 1000;
const BATCH_BYTES = 4_194_304;

/**
 * Combines the reports of many calls into few writes, because there can be thousands of devices and each write waits
 * for a disk or a server. Lists that arrive while a batch is written share the next batch.
 */
export class ReportIntake {
  readonly #write: (take: () => readonly ReportList[]) => Promise<void>;
  readonly #queue = new Queue();
  readonly #calls = new Set<Promise<void>>();
  #open: Batch | null = null;

  /** `write` must store all lists that `take` returns, or reject. Once it has called `take`, no list joins the batch. */
  constructor(write: (take: () => readonly ReportList[]) => Promise<void>) {
    this.#write = write;
  }

  /** Resolves when the list is stored; rejects if it is not, or if that is unknown. */
  insert(reports: readonly Report[], at: number): Promise<void> {
    const call = this.#insert(reports, at).finally(() => this.#calls.delete(call));
    this.#calls.add(call);
    return call;
  }

  /** Resolves when all earlier lists are stored or have failed. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#calls);
  }

  async #insert(reports: readonly Report[], at: number): Promise<void> {
    const list: SerializedReport[] = [];
    let bytes = 0;
    await forEachYielding(reports, (report) => {
      const body = JSON.stringify(report);
      list.push({ report, body });
      bytes += Buffer.byteLength(body);
    });
    const batch = this.#batchFor(list.length, bytes);
    batch.lists.push({ reports: list, at });
    batch.size += list.length;
    batch.bytes += bytes;
    return batch.done;
  }

  /** Returns the open batch if it has room for a list of this size, otherwise a new one. */
  #batchFor(size: number, bytes: number): Batch {
    const open = this.#open;
    if (open === null) return this.#begin();
    const isFull = open.size + size > BATCH_SIZE || open.bytes + bytes > BATCH_BYTES;
    return isFull && open.size > 0 ? this.#begin() : open;
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
    const batch = { lists, size: 0, bytes: 0, done };
    this.#open = batch;
    return batch;
  }
}
