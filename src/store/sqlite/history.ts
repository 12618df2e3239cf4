import { Pace } from '../../async/pace.ts';
import {
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
import { type Database, prepare, type Statement } from './connection.ts';

/** The most lists of keys of a query. */
const MOST_LISTS = 5;

const MATCHES = [
  '(?1 IS NULL OR kind IN (SELECT value FROM json_each(?1)))',
  '(?2 IS NULL OR at >= ?2)',
  '(?3 IS NULL OR at <= ?3)',
  "(?4 IS NULL OR text LIKE ?4 ESCAPE '\\')",
  ...Array.from({ length: MOST_LISTS }, (_, index) => {
    const list = `?${index + 5}`;
    return `(${list} IS NULL OR n IN (SELECT n FROM entry_keys WHERE key IN (SELECT value FROM json_each(${list}))))`;
  }),
].join(' AND ');

interface BodyRow {
  n: number;
  body: string;
}

/** Reads the entries of the history. */
export class HistoryReads {
  readonly #state: Statement<{ history: string | null }>;
  readonly #page: Statement<BodyRow>;
  readonly #count: Statement<{ total: number }>;
  readonly #entry: Statement<BodyRow>;
  readonly #byPrefix: Statement<{ key: string }>;

  constructor(db: Database) {
    this.#state = prepare(db, 'SELECT history FROM state');
    const [before, limit] = [`?${MOST_LISTS + 5}`, `?${MOST_LISTS + 6}`];
    this.#page = prepare(
      db,
      `SELECT n, body FROM entry_bodies WHERE part = 0 AND n IN
        (SELECT n FROM entries WHERE n < ${before} AND ${MATCHES} ORDER BY n DESC LIMIT ${limit})
       ORDER BY n DESC`,
    );
    this.#count = prepare(db, `SELECT count(*) AS total FROM entries WHERE ${MATCHES}`);
    this.#entry = prepare(db, 'SELECT n, body FROM entry_bodies WHERE n = ? ORDER BY part');
    this.#byPrefix = prepare(
      db,
      "SELECT DISTINCT key FROM entry_keys WHERE key >= ?1 AND key < ?1 || 'g' LIMIT 2",
    );
  }

  state(): HistoryState | null {
    return JSON.parse(this.#state.get()?.history ?? 'null') as HistoryState | null;
  }

  page(query: EntryQuery, before: number | null, limit: number): EntryPage {
    const values = valuesOf(query);
    const rows = this.#page.all(...values, before ?? Number.MAX_SAFE_INTEGER, limit);
    return {
      entries: rows.map(({ n, body }) => entryOf(n, [body])),
      total: this.#count.get(...values)?.total ?? 0,
    };
  }

  entry(n: number): ListedEntry | null {
    const rows = this.#entry.all(n);
    return rows.length === 0
      ? null
      : entryOf(
          n,
          rows.map(({ body }) => body),
        );
  }

  /** See `HistoryStore.revisionOf`. */
  revisionOf(prefix: string): string | null {
    const found = this.#byPrefix.all(keys.revision(prefix));
    return found.length === 1 ? (found[0]?.key.slice(keys.revision('').length) ?? null) : null;
  }
}

function valuesOf({ kinds, since, until, text, keys: lists }: EntryQuery): (string | number | null)[] {
  const pattern = text === null ? null : `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`;
  const list = (index: number): string | null =>
    lists[index] === undefined ? null : JSON.stringify(lists[index]);
  return [
    kinds === null ? null : JSON.stringify(kinds),
    since,
    until,
    pattern,
    ...Array.from({ length: MOST_LISTS }, (_, index) => list(index)),
  ];
}

/** Writes the entries of the history, inside the caller's transaction. */
export class History extends HistoryReads {
  readonly #setState: Statement<never>;
  readonly #add: Statement<never>;
  readonly #addKey: Statement<never>;
  readonly #addBody: Statement<never>;
  readonly #refused: Statement<BodyRow>;
  readonly #setBody: Statement<never>;
  readonly #setKey: Statement<never>;

  constructor(db: Database) {
    super(db);
    this.#setState = prepare(db, 'UPDATE state SET history = ?');
    this.#add = prepare(db, 'INSERT INTO entries (n, kind, at, text) VALUES (?, ?, ?, ?)');
    this.#addKey = prepare(db, 'INSERT INTO entry_keys (key, n) VALUES (?, ?)');
    this.#addBody = prepare(db, 'INSERT INTO entry_bodies (n, part, body) VALUES (?, ?, ?)');
    this.#refused = prepare(
      db,
      'SELECT b.n, b.body FROM entry_keys AS k JOIN entry_bodies AS b ON b.n = k.n AND b.part = 0 WHERE k.key = ?',
    );
    this.#setBody = prepare(db, 'UPDATE entry_bodies SET body = ? WHERE n = ? AND part = 0');
    this.#setKey = prepare(db, 'UPDATE entry_keys SET key = ? WHERE key = ? AND n = ?');
  }

  /** See `HistoryStore.addEntries`. Yields to other work: a commit of 10,000 files has 30,000 keys. */
  async addEntries({ expected, next, entries, supersedes }: EntryBatch): Promise<boolean> {
    if (!isSameState(this.state(), expected)) return false;
    if (supersedes) this.#supersede();
    const pace = new Pace();
    for (const entry of entries) {
      this.#add.run(entry.n, entry.kind, entry.at, entryText(entry));
      for (const key of entryKeys(entry)) {
        this.#addKey.run(key, entry.n);
        await pace.step();
      }
      for (const [part, body] of entryRows(entry).entries()) {
        this.#addBody.run(entry.n, part, body);
        await pace.step();
      }
    }
    this.#setState.run(JSON.stringify(next));
    return true;
  }

  #supersede(): void {
    const [from, to] = [keys.state('refused'), keys.state('superseded')];
    for (const { n, body } of this.#refused.all(from)) {
      this.#setBody.run(superseded(body), n);
      this.#setKey.run(to, from, n);
    }
  }
}
