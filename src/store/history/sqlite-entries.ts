import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { Pace } from '../../async/pace.ts';
import { ENTRY_STATES } from '../../protocol/history.ts';
import { type Database, prepare, type SqlValue, type Statement } from '../../sqlite/connection.ts';
import {
  APPLYING_KINDS,
  appliedRevision,
  type EntryBatch,
  type EntryPage,
  type EntryQuery,
  entryKeys,
  entryOf,
  entryRows,
  entryText,
  type HistoryState,
  isSameState,
  keys,
  type ListedEntry,
  superseded,
} from '../entry.ts';
import type { Acts } from './sqlite-acts.ts';

interface BodyRow {
  n: number;
  body: Uint8Array;
}

/** A commit that touches many files says nearly the same of each. */
function packed(body: string): Uint8Array {
  return deflateRawSync(body);
}

function unpacked({ body }: BodyRow): string {
  return inflateRawSync(body).toString();
}

/** Reads the entries of the history. */
export class HistoryReads {
  readonly #db: Database;
  /** Statements of pages and counts by their text: one for each combination of filters that was asked for. */
  readonly #statements = new Map<string, Statement<unknown>>();
  readonly #state: Statement<{ history: string | null }>;
  readonly #entry: Statement<BodyRow>;
  readonly #byPrefix: Statement<{ name: string }>;
  readonly #firstSince: Statement<BodyRow>;
  readonly #lastBefore: Statement<BodyRow>;

  constructor(db: Database) {
    this.#db = db;
    this.#state = prepare(db, 'SELECT history FROM state');
    this.#entry = prepare(db, 'SELECT n, body FROM entry_bodies WHERE n = ? ORDER BY part');
    this.#byPrefix = prepare(
      db,
      "SELECT name FROM entry_key_names WHERE name >= ?1 AND name < ?1 || 'g' LIMIT 2",
    );
    this.#firstSince = prepare(
      db,
      `SELECT n, body FROM entries JOIN entry_bodies USING (n)
       WHERE id_sequence > ? AND n IN (SELECT n FROM entry_keys WHERE ${HAS_KEY}) AND part = 0
       ORDER BY id_sequence, n LIMIT 1`,
    );
    this.#lastBefore = prepare(
      db,
      `SELECT n, body FROM entries JOIN entry_bodies USING (n)
       WHERE id_sequence < ? AND kind IN (SELECT value FROM json_each('${JSON.stringify(APPLYING_KINDS)}')) AND part = 0
       ORDER BY id_sequence DESC, n DESC LIMIT 1`,
    );
  }

  state(): HistoryState | null {
    return JSON.parse(this.#state.get()?.history ?? 'null') as HistoryState | null;
  }

  page(query: EntryQuery, before: number | null, limit: number): EntryPage {
    const conditions = conditionsOf(query);
    const total = this.#count(query, conditions);
    // The search for a page of nothing reads as much as the count.
    if (total === 0) return { entries: [], total };
    const below = { sql: 'n < ?', value: before ?? Number.MAX_SAFE_INTEGER };
    const page = `SELECT n FROM entries${where([below, ...conditions])} ORDER BY n DESC LIMIT ?`;
    const rows = this.#statement<BodyRow>(
      `SELECT n, body FROM entry_bodies WHERE part = 0 AND n IN (${page}) ORDER BY n DESC`,
    ).all(...[below, ...conditions].map(({ value }) => value), limit);
    return { entries: rows.map((row) => entryOf(row.n, [unpacked(row)])), total };
  }

  /** Keys alone are counted in their own table: looking up each entry would take most of the time. */
  #count({ keys: lists, kinds, since, until, text }: EntryQuery, conditions: readonly Condition[]): number {
    const hasKeysAlone = kinds === null && since === null && until === null && text === null;
    const [first, ...others] = conditions;
    const sql =
      lists.length > 0 && hasKeysAlone && first !== undefined
        ? `SELECT count(DISTINCT n) AS total FROM entry_keys${where([{ ...first, sql: HAS_KEY }, ...others])}`
        : `SELECT count(*) AS total FROM entries${where(conditions)}`;
    return this.#statement<{ total: number }>(sql).get(...conditions.map(({ value }) => value))?.total ?? 0;
  }

  #statement<Row>(sql: string): Statement<Row> {
    const known = this.#statements.get(sql) ?? prepare(this.#db, sql);
    this.#statements.set(sql, known);
    return known as Statement<Row>;
  }

  entry(n: number): ListedEntry | null {
    const rows = this.#entry.all(n);
    return rows.length === 0 ? null : entryOf(n, rows.map(unpacked));
  }

  /** See `HistoryStore.firstSince`. */
  firstSince(idSequence: number, objects: readonly string[]): ListedEntry | null {
    const row = this.#firstSince.get(idSequence, JSON.stringify(objects.map(keys.object)));
    return row === undefined ? null : entryOf(row.n, [unpacked(row)]);
  }

  /** See `HistoryStore.revisionBefore`. */
  revisionBefore(idSequence: number): string | null {
    const row = this.#lastBefore.get(idSequence);
    return row === undefined ? null : appliedRevision(entryOf(row.n, [unpacked(row)]));
  }

  /** See `HistoryStore.revisionOf`. */
  revisionOf(prefix: string): string | null {
    const found = this.#byPrefix.all(keys.revision(prefix));
    return found.length === 1 ? (found[0]?.name.slice(keys.revision('').length) ?? null) : null;
  }
}

/** A condition on an entry with one parameter, and its value. */
interface Condition {
  sql: string;
  value: SqlValue;
}

const HAS_KEY = 'key IN (SELECT key FROM entry_key_names WHERE name IN (SELECT value FROM json_each(?)))';

/**
 * Returns the conditions of a query, those of its keys first. Only those that are set: a statement for all of them, with
 * `? IS NULL OR ...`, would use no index.
 */
function conditionsOf({ keys: lists, kinds, since, until, text }: EntryQuery): Condition[] {
  const pattern = `%${text?.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
  return [
    ...lists.map((list) => ({
      sql: `n IN (SELECT n FROM entry_keys WHERE ${HAS_KEY})`,
      value: JSON.stringify(list),
    })),
    ...(kinds === null
      ? []
      : [{ sql: 'kind IN (SELECT value FROM json_each(?))', value: JSON.stringify(kinds) }]),
    ...(since === null ? [] : [{ sql: 'at >= ?', value: since }]),
    ...(until === null ? [] : [{ sql: 'at <= ?', value: until }]),
    ...(text === null ? [] : [{ sql: "text LIKE ? ESCAPE '\\'", value: pattern }]),
  ];
}

function where(conditions: readonly Condition[]): string {
  return conditions.length === 0 ? '' : ` WHERE ${conditions.map(({ sql }) => sql).join(' AND ')}`;
}

/** Writes the entries of the history, inside the caller's transaction. */
export class History extends HistoryReads {
  readonly #acts: Acts;
  readonly #setState: Statement<never>;
  readonly #add: Statement<never>;
  readonly #addName: Statement<never>;
  readonly #addKey: Statement<never>;
  readonly #addBody: Statement<never>;
  readonly #refused: Statement<BodyRow>;
  readonly #setBody: Statement<never>;
  readonly #removeKey: Statement<never>;

  constructor(db: Database, acts: Acts) {
    super(db);
    this.#acts = acts;
    this.#setState = prepare(db, 'UPDATE state SET history = ?');
    this.#add = prepare(db, 'INSERT INTO entries (n, kind, at, text, id_sequence) VALUES (?, ?, ?, ?, ?)');
    this.#addName = prepare(
      db,
      `INSERT OR IGNORE INTO entry_key_names (name, key)
       VALUES (?, max(${ENTRY_STATES.length}, coalesce((SELECT max(key) FROM entry_keys), 0)) + 1)`,
    );
    this.#addKey = prepare(
      db,
      'INSERT INTO entry_keys (key, n) SELECT key, ?2 FROM entry_key_names WHERE name = ?1',
    );
    this.#addBody = prepare(db, 'INSERT INTO entry_bodies (n, part, body) VALUES (?, ?, ?)');
    this.#refused = prepare(
      db,
      `SELECT n, body FROM entry_key_names JOIN entry_keys USING (key) JOIN entry_bodies USING (n)
       WHERE name = ? AND part = 0`,
    );
    this.#setBody = prepare(db, 'UPDATE entry_bodies SET body = ? WHERE n = ? AND part = 0');
    this.#removeKey = prepare(
      db,
      'DELETE FROM entry_keys WHERE key = (SELECT key FROM entry_key_names WHERE name = ?) AND n = ?',
    );
  }

  /** See `HistoryStore.addEntries`. Yields to other work: a commit of 10,000 files has 30,000 keys. */
  async addEntries({ expected, next, entries, supersedes }: EntryBatch): Promise<boolean> {
    if (!isSameState(this.state(), expected)) return false;
    if (supersedes) this.#supersede();
    const pace = new Pace();
    for (const entry of entries) {
      this.#add.run(entry.n, entry.kind, entry.at, entryText(entry), entry.idSequence);
      for (const key of entryKeys(entry)) {
        this.#putKey(key, entry.n);
        await pace.step();
      }
      for (const [part, body] of entryRows(entry).entries()) {
        this.#addBody.run(entry.n, part, packed(body));
        await pace.step();
      }
    }
    this.#setState.run(JSON.stringify(next));
    this.#acts.drop(next.act);
    return true;
  }

  #putKey(key: string, n: number): void {
    this.#addName.run(key);
    this.#addKey.run(key, n);
  }

  #supersede(): void {
    const [from, to] = [keys.state('refused'), keys.state('superseded')];
    for (const row of this.#refused.all(from)) {
      this.#setBody.run(packed(superseded(unpacked(row))), row.n);
      this.#removeKey.run(from, row.n);
      this.#putKey(to, row.n);
    }
  }
}
