import type { FileOrigin } from '../../plan/step.ts';
import type { Kind } from '../../protocol/name.ts';
import { type Database, prepare, type Statement } from '../../sqlite/connection.ts';
import type { ObjectRow } from '../rules/rows.ts';
import type { ObjectContent } from '../rules/work.ts';
import { FIND_OBJECT, NAMES } from './rows.ts';

/** Changes apps and device groups, inside the caller's transaction. */
export class Objects {
  readonly #find: Statement<ObjectRow>;
  readonly #names: Statement<{ name: string }>;
  readonly #insert: Statement<never>;
  readonly #update: Statement<never>;
  readonly #setOrigin: Statement<never>;
  readonly #remove: Statement<never>;

  constructor(db: Database) {
    this.#find = prepare(db, FIND_OBJECT);
    this.#names = prepare(db, NAMES);
    this.#insert = prepare(
      db,
      'INSERT INTO objects (kind, name, oid, content, hash, path, blob) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#update = prepare(
      db,
      'UPDATE objects SET content = ?, hash = ?, path = ?, blob = ? WHERE kind = ? AND name = ?',
    );
    this.#setOrigin = prepare(db, 'UPDATE objects SET path = ?, blob = ? WHERE kind = ? AND name = ?');
    this.#remove = prepare(db, 'DELETE FROM objects WHERE kind = ? AND name = ?');
  }

  find(kind: Kind, name: string): ObjectRow | undefined {
    return this.#find.get(kind, name);
  }

  groupNames(): string[] {
    return this.#names.all('device_group').map((row) => row.name);
  }

  insert(kind: Kind, name: string, oid: string, { content, hash, origin }: ObjectContent): void {
    this.#insert.run(kind, name, oid, content, hash, origin?.path ?? null, origin?.blob ?? null);
  }

  update(kind: Kind, name: string, { content, hash, origin }: ObjectContent): void {
    this.#update.run(content, hash, origin?.path ?? null, origin?.blob ?? null, kind, name);
  }

  setOrigin(kind: Kind, name: string, origin: FileOrigin | null): void {
    this.#setOrigin.run(origin?.path ?? null, origin?.blob ?? null, kind, name);
  }

  /** Removes an object. Returns whether there was one. */
  remove(kind: Kind, name: string): boolean {
    return this.#remove.run(kind, name).changes > 0;
  }
}
