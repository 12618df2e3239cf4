import { Pace } from '../../async/pace.ts';
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

/** Reports that go into one transaction, at least one list: others wait for it. */
const AT_ONCE = 1000;

/** Takes reports in. Lists that wait share a transaction: devices come by the thousand, and each one ends at the disk. */
export class ReportIntake {
  readonly #writes: Writes;
  readonly #inTurn: (work: () => Promise<void>) => Promise<void>;
  #gathering: Gathering | null = null;

  /** `inTurn` runs work in a transaction of its own, in a later turn of the event loop. */
  constructor(writes: Writes, inTurn: (work: () => Promise<void>) => Promise<void>) {
    this.#writes = writes;
    this.#inTurn = inTurn;
  }

  /** Resolves when the list is on the disk; rejects where none of it is. */
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
    // Also where the transaction does not even begin.
    const done = this.#inTurn(work).finally(end);
    const gathering = { arrivals, size: 0, done };
    this.#gathering = gathering;
    return gathering;
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
