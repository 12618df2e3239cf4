import type { Kind } from '../../desired/name.ts';
import type { FileOrigin } from '../../plan/step.ts';
import type { ObjectRow } from '../rules/rows.ts';
import type { ObjectContent } from '../rules/work.ts';
import { type Database, prepare, type Statement } from './connection.ts';
import { findObject, TABLE_OF } from './rows.ts';

/** Changes apps and device groups, inside the caller's transaction. */
export class Objects {
  readonly #of: Readonly<Record<Kind, KindStatements>>;
  readonly #setPruneId: Statement<never>;
  readonly #groupNames: Statement<{ name: string }>;

  constructor(db: Database) {
    this.#of = { app: statements(db, 'app'), device_group: statements(db, 'device_group') };
    this.#setPruneId = prepare(db, 'UPDATE device_groups SET prune_id = ? WHERE name = ?');
    this.#groupNames = prepare(db, 'SELECT name FROM device_groups ORDER BY name');
  }

  find(kind: Kind, name: string): ObjectRow | undefined {
    return this.#of[kind].find.get(name);
  }

  groupNames(): string[] {
    return this.#groupNames.all().map((row) => row.name);
  }

  insert(kind: Kind, name: string, oid: string, id: number, object: ObjectContent): void {
    const { content, hash, origin } = object;
    this.#of[kind].insert.run(name, oid, id, content, hash, origin?.path ?? null, origin?.blob ?? null);
  }

  update(kind: Kind, name: string, id: number, object: ObjectContent): void {
    const { content, hash, origin } = object;
    this.#of[kind].update.run(id, content, hash, origin?.path ?? null, origin?.blob ?? null, name);
  }

  setId(kind: Kind, name: string, id: number): void {
    this.#of[kind].setId.run(id, name);
  }

  setPruneId(group: string, id: number): void {
    this.#setPruneId.run(id, group);
  }

  setOrigin(kind: Kind, name: string, origin: FileOrigin | null): void {
    this.#of[kind].setOrigin.run(origin?.path ?? null, origin?.blob ?? null, name);
  }

  /** Whether there was such an object. */
  remove(kind: Kind, name: string): boolean {
    return this.#of[kind].remove.run(name).changes > 0;
  }
}

interface KindStatements {
  find: Statement<ObjectRow>;
  insert: Statement<never>;
  update: Statement<never>;
  setId: Statement<never>;
  setOrigin: Statement<never>;
  remove: Statement<never>;
}

function statements(db: Database, kind: Kind): KindStatements {
  const table = TABLE_OF[kind];
  return {
    find: findObject(db, kind),
    insert: prepare(
      db,
      `INSERT INTO ${table} (name, oid, id, content, hash, path, blob) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    ),
    update: prepare(
      db,
      `UPDATE ${table} SET id = ?, content = ?, hash = ?, path = ?, blob = ? WHERE name = ?`,
    ),
    setId: prepare(db, `UPDATE ${table} SET id = ? WHERE name = ?`),
    setOrigin: prepare(db, `UPDATE ${table} SET path = ?, blob = ? WHERE name = ?`),
    remove: prepare(db, `DELETE FROM ${table} WHERE name = ?`),
  };
}
