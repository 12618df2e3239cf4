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
  /** Null if the line has no target. */
  met: boolean | null;
}

/** A measurement that `npm run bench -- <name>` selects; it can print several lines. */
export type Row = (bench: Bench) => Promise<Line[]>;

/** The folders and processes of a row, which end with it. */
export class Bench {
  readonly isLong: boolean;
  readonly #ends: (() => Promise<void>)[] = [];

  constructor(isLong: boolean) {
    this.isLong = isLong;
  }

  /** Registers a clean-up. The last one that was registered runs first. */
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

  /** Reports progress on standard error: standard output has only the table. */
  say(text: string): void {
    process.stderr.write(`  ${text}\n`);
  }
}
