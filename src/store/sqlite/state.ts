import { HoldfastError } from '../../errors.ts';
import type { HistoryPoint } from '../../ids/id-store.ts';
import { type Database, prepare, type Statement } from '../../sqlite/connection.ts';
import type { StoreState } from '../store.ts';

interface StateRow {
  fleet: string;
  sequence: number;
  claimed: string | null;
  attempted_revision: string | null;
  attempted_at: number | null;
  applied_revision: string | null;
  applied_at: number | null;
  rules: string | null;
  default_floor: number;
  id_sequence: number;
  last_oid: string | null;
  /** JSON. */
  seeded_from: string | null;
}

/** Reads the one row of `state`. */
export class StateReads {
  readonly #row: Statement<StateRow>;

  constructor(db: Database) {
    this.#row = prepare(db, 'SELECT * FROM state');
  }

  read(): StoreState {
    return { ...progressOf(this.row()), mark: null };
  }

  /** Returns the applied revision; null if there is none. */
  appliedRevision(): string | null {
    return this.row().applied_revision;
  }

  /** Returns what replies to devices show of the state. */
  ofReplies(): { fleet: string; revision: string | null } {
    const { fleet, applied_revision: revision } = this.row();
    return { fleet, revision };
  }

  /** Returns the highest `_id` that this store ever gave to an object or a report. */
  lastOid(): string | null {
    return this.row().last_oid;
  }

  protected row(): StateRow {
    const row = this.#row.get();
    if (row === undefined) throw new HoldfastError('unavailable', 'the state row of the store is missing');
    return row;
  }
}

/** Changes the row of `state`, inside the caller's transaction. */
export class StateWrites extends StateReads {
  readonly #attempted: Statement<never>;
  readonly #claim: Statement<never>;
  readonly #applied: Statement<never>;
  readonly #lastOid: Statement<never>;
  readonly #idSequence: Statement<never>;
  readonly #seeded: Statement<never>;

  constructor(db: Database) {
    super(db);
    this.#attempted = prepare(db, 'UPDATE state SET attempted_revision = ?, attempted_at = ?');
    this.#claim = prepare(db, 'UPDATE state SET sequence = sequence + 1, claimed = ?');
    this.#applied = prepare(db, 'UPDATE state SET applied_revision = ?, applied_at = ?, rules = ?');
    this.#lastOid = prepare(db, 'UPDATE state SET last_oid = ?');
    this.#idSequence = prepare(db, 'UPDATE state SET id_sequence = ?');
    this.#seeded = prepare(db, 'UPDATE state SET seeded_from = ?, default_floor = max(default_floor, ?)');
  }

  setAttempted(revision: string, at: number): void {
    this.#attempted.run(revision, at);
  }

  lastClaim(): { sequence: number; claimed: string | null } {
    return this.row();
  }

  claim(revision: string): void {
    this.#claim.run(revision);
  }

  setApplied(revision: string, at: number, rules: string): void {
    this.#applied.run(revision, at, rules);
  }

  clearApplied(): void {
    this.#applied.run(null, null, null);
  }

  setLastOid(oid: string): void {
    this.#lastOid.run(oid);
  }

  idSequence(): number {
    return this.row().id_sequence;
  }

  /** Raises the id sequence above its stored value and `above`, and returns it. */
  nextIdSequence(above = 0): number {
    const next = Math.max(this.row().id_sequence, above) + 1;
    this.#idSequence.run(next);
    return next;
  }

  setSeeded(from: HistoryPoint, defaultFloor: number): void {
    this.#seeded.run(JSON.stringify(from), defaultFloor);
  }
}

function progressOf(row: StateRow): Omit<StoreState, 'mark'> {
  return {
    sequence: row.sequence,
    attempted: moment(row.attempted_revision, row.attempted_at),
    applied: moment(row.applied_revision, row.applied_at),
    fleet: row.fleet,
    rules: row.rules,
    seededFrom: JSON.parse(row.seeded_from ?? 'null') as HistoryPoint | null,
    idSequence: row.id_sequence,
  };
}

function moment(revision: string | null, at: number | null): { revision: string; at: number } | null {
  return revision === null || at === null ? null : { revision, at };
}
