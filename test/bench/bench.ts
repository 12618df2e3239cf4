import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** One line of the table. */
export interface Line {
  row: string;
  measured: string;
  baseline: string;
  ratio: string;
  target: string;
  /** null: shown, but no target stands against it. */
  met: boolean | null;
}

/** One row of the issue, which can have more than one line. */
export type Row = (bench: Bench) => Promise<Line[]>;

/** What a row works in: folders and processes that go when the row is over. */
export class Bench {
  readonly isLong: boolean;
  readonly #ends: (() => Promise<void>)[] = [];

  constructor(isLong: boolean) {
    this.isLong = isLong;
  }

  /** Ends of later things come first. */
  whenDone(end: () => Promise<void>): void {
    this.#ends.unshift(end);
  }

  async folder(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'holdfast-bench-'));
    this.whenDone(() => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 }));
    return folder;
  }

  async end(): Promise<void> {
    for (const end of this.#ends.splice(0)) await end();
  }

  /** Tells people at the terminal what takes so long; the table alone goes to standard output. */
  say(text: string): void {
    process.stderr.write(`  ${text}\n`);
  }
}
