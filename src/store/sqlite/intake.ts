import { Pace } from '../../async/pace.ts';
import { Queue } from '../../async/queue.ts';
import type { Report } from '../report.ts';
import type { Writes } from './tables.ts';

/** A list of reports, and when it arrived (Unix milliseconds). */
interface Arrival {
  reports: readonly Report[];
  at: number;
}

/** The transaction that the next lists go into. */
interface Gathering {
  arrivals: Arrival[];
  size: number;
  done: Promise<void>;
}

/**
 * Runs work in a transaction of its own, in a later turn of the event loop; resolves when what it wrote is on the disk.
 */
type Write = (work: () => Promise<void>) => Promise<void>;

/** Reports that go into one transaction, at least one list: others wait for it. */
const AT_ONCE = 1000;

/** Takes reports in. Lists that wait share a transaction: devices come by the thousand, and each one ends at the disk. */
export class ReportIntake {
  readonly #writes: Writes;
  readonly #write: Write;
  readonly #turns = new Queue();
  #gathering: Gathering | null = null;

  constructor(writes: Writes, write: Write) {
    this.#writes = writes;
    this.#write = write;
  }

  /** Resolves when the list is on the disk; rejects where none of it is, or where the disk does not say so. */
  take(reports: readonly Report[], at: number): Promise<void> {
    const open = this.#gathering;
    const gathering = open !== null && open.size < AT_ONCE ? open : this.#begin();
    gathering.arrivals.push({ reports, at });
    gathering.size += reports.length;
    return gathering.done;
  }

  #begin(): Gathering {
    const arrivals: Arrival[] = [];
    const end = (): void => {
      if (this.#gathering === gathering) this.#gathering = null;
    };
    const work = (): Promise<void> => {
      end();
      return insertAll(this.#writes, arrivals);
    };
    // While one waits for the disk, beside the event loop, the lists that come gather for the next: a slow disk is
    // asked once for many of them. `end` is for a transaction that does not even begin.
    const done = this.#turns.run(() => this.#write(work)).finally(end);
    const gathering = { arrivals, size: 0, done };
    this.#gathering = gathering;
    return gathering;
  }

  /** Resolves when nothing that was taken before waits for the disk any more. */
  settle(): Promise<void> {
    return this.#turns.run(() => undefined);
  }
}

/** Gives way to others between reports. */
async function insertAll(writes: Writes, arrivals: readonly Arrival[]): Promise<void> {
  const pace = new Pace();
  let lastOid: string | null = null;
  for (const { reports, at } of arrivals) {
    for (const report of reports) {
      lastOid = writes.newOid(at);
      writes.reports.insert(lastOid, report, at);
      await pace.step();
    }
  }
  if (lastOid !== null) writes.state.setLastOid(lastOid);
}
