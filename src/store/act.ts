import type { Effect } from '../plan/effect.ts';
import type { ChangeType, FileOrigin } from '../plan/step.ts';
import type { Kind } from '../protocol/name.ts';
import type { Operation } from './operation.ts';

/**
 * What an act changed in one object, without any value of a field: those are read from git, by the blobs. A `prune` change is that
 * of a group's prune id; `file` says that devices see no difference, but that the object has another file.
 */
export interface ActChange {
  kind: Kind | 'prune';
  name: string;
  change: ChangeType | 'file';
  /** The id that the object has since; null for a delete. */
  id: number | null;
  /** The fields that an update changed. */
  fields: string[];
  before: FileOrigin | null;
  after: FileOrigin | null;
}

/** One write of the store that gave ids, or that applied a revision. It is kept until the history has its entries. */
export interface Act {
  /** Rises from act to act, not always by one. */
  number: number;
  /** Unix milliseconds. */
  at: number;
  /** `StoreState.idSequence` with it. */
  idSequence: number;
  /** The revision that was applied, and the one before it (null: none, or the store was seeded since); null for an operation. */
  applied: { revision: string; before: string | null; branch: string | null } | null;
  /** The operation; null for an applied revision. */
  operation: Pick<Operation, 'action' | 'name' | 'actor' | 'requestId' | 'reason' | 'text'> | null;
  /** Keys of the objects that an applied revision has in another way, but that a problem held back. */
  held: string[];
  changes: ActChange[];
  effects: Effect[];
}

/** An act that the store has not given a number yet. */
export type NewAct = Omit<Act, 'number'>;

/** Most changes, and effects, of one row: a row of MongoDB must not have more than 16 MB. */
const ROW_LENGTH = 1000;

/** Returns the act as the texts of rows. */
export function actRows({ changes, effects, ...act }: NewAct): string[] {
  return inRows({ changes, effects }, ROW_LENGTH, ROW_LENGTH).map((row, index) =>
    JSON.stringify(index === 0 ? { ...act, ...row } : row),
  );
}

/** Returns the act that has these rows, in order. */
export function actOf(number: number, rows: readonly string[]): Act {
  const parts = rows.map((row) => JSON.parse(row) as Act);
  const [first] = parts;
  return { ...(first as Act), held: first?.held ?? [], number, ...joined(parts) };
}

/** Lists that become long: what happened to each object, and what devices did. */
export interface Lists<C> {
  changes: C[];
  effects: Effect[];
}

/** Cuts lists into rows of at most so many items: at least one row, and the first one has its own limit. */
export function inRows<C>({ changes, effects }: Lists<C>, first: number, others: number): Lists<C>[] {
  const rows: Lists<C>[] = [{ changes: changes.slice(0, first), effects: effects.slice(0, first) }];
  for (let at = first; at < Math.max(changes.length, effects.length); at += others) {
    rows.push({ changes: changes.slice(at, at + others), effects: effects.slice(at, at + others) });
  }
  return rows;
}

/** The lists of all rows. */
export function joined<C>(rows: readonly Lists<C>[]): Lists<C> {
  return {
    changes: rows.flatMap(({ changes }) => changes),
    effects: rows.flatMap(({ effects }) => effects),
  };
}
