import type { Kind } from '../../desired/name.ts';
import type { FileOrigin } from '../../plan/step.ts';
import type { ObjectRow } from '../rules/rows.ts';
import type { ObjectContent } from '../rules/work.ts';
import { type Database, prepare, type Statement } from './connection.ts';
import { findObject, TABLE_OF } from './rows.ts';

/** Changes apps and device groups, inside the caller's transaction. */
export class Objects {
  readonly #of: Readonly<Record<Kind, KindStatements>>;
  readonly #groupNames: Statement<{ name: string }>;

  constructor(db: Database) {
    this.#of = { app: statements(db, 'app'), device_group: statements(db, 'device_group') };
    this.#groupNames = prepare(db, 'SELECT name FROM device_groups ORDER BY name');
  }

  find(kind: Kind, name: string): ObjectRow | undefined {
    return this.#of[kind].find.get(name);
  }

  groupNames(): string[] {
    return this.#groupNames.all().map((row) => row.name);
  }

  insert(kind: Kind, name: string, oid: string, object: ObjectContent): void {
    const { content, hash, origin } = object;
    this.#of[kind].insert.run(name, oid, content, hash, origin?.path ?? null, origin?.blob ?? null);
  }

  update(kind: Kind, name: string, object: ObjectContent): void {
    const { content, hash, origin } = object;
    this.#of[kind].update.run(content, hash, origin?.path ?? null, origin?.blob ?? null, name);
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
  setOrigin: Statement<never>;
  remove: Statement<never>;
}

function statements(db: Database, kind: Kind): KindStatements {
  const table = TABLE_OF[kind];
  return {
    find: findObject(db, kind),
    insert: prepare(
      db,
      `INSERT INTO ${table} (name, oid, content, hash, path, blob) VALUES (?, ?, ?, ?, ?, ?)`,
    ),
    update: prepare(db, `UPDATE ${table} SET content = ?, hash = ?, path = ?, blob = ? WHERE name = ?`),
    setOrigin: prepare(db, `UPDATE ${table} SET path = ?, blob = ? WHERE name = ?`),
    remove: prepare(db, `DELETE FROM ${table} WHERE name = ?`),
  };
}
