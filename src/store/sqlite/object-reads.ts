import { inTurns } from '../../async/pace.ts';
import type { AppDefaults } from '../../desired/app.ts';
import type { Kind } from '../../desired/name.ts';
import { appliedObject, type ObjectRow, storedApp, storedGroup } from '../rules/rows.ts';
import type { AppliedObject, StoredApp, StoredGroup } from '../store.ts';
import { type Database, prepare, type Statement } from './connection.ts';
import { fileOrigin, findObject, selectObjects, TABLE_OF } from './rows.ts';

/** An object and where it came from, as its table holds them. */
export interface AppliedRow {
  kind: Kind;
  name: string;
  content: string;
  path: string | null;
  blob: string | null;
}

/** Reads apps and device groups. */
export class ObjectReads {
  readonly #defaults: AppDefaults;
  readonly #find: Readonly<Record<Kind, Statement<ObjectRow>>>;
  readonly #names: Readonly<Record<Kind, Statement<{ name: string }>>>;
  readonly #members: Statement<ObjectRow>;
  readonly #all: Statement<AppliedRow>;

  constructor(db: Database, defaults: AppDefaults) {
    this.#defaults = defaults;
    this.#find = { app: findObject(db, 'app'), device_group: findObject(db, 'device_group') };
    this.#names = { app: names(db, 'app'), device_group: names(db, 'device_group') };
    this.#members = prepare(db, `${selectObjects('app')} WHERE o.name IN (SELECT value FROM json_each(?))`);
    this.#all = prepare(
      db,
      `SELECT 'app' AS kind, name, content, path, blob FROM apps
       UNION ALL SELECT 'device_group', name, content, path, blob FROM device_groups`,
    );
  }

  names(kind: Kind): string[] {
    return this.#names[kind].all().map((row) => row.name);
  }

  app(name: string): StoredApp | null {
    const row = this.#find.app.get(name);
    return row === undefined ? null : storedApp(row, this.#defaults);
  }

  group(name: string): StoredGroup | null {
    const row = this.#find.device_group.get(name);
    return row === undefined ? null : storedGroup(row);
  }

  /** The rows of a group's apps, in no order; one that is missing is left out. */
  members({ content }: StoredGroup): ObjectRow[] {
    return this.#members.all(JSON.stringify(content.apps));
  }

  /** The rows of all objects. */
  all(): AppliedRow[] {
    return this.#all.all();
  }

  /** Parses rows; gives way to other work. */
  async parse(rows: readonly AppliedRow[]): Promise<AppliedObject[]> {
    const objects: AppliedObject[] = [];
    await inTurns(rows, (row) => {
      objects.push(appliedObject(row.kind, row.name, row.content, fileOrigin(row), this.#defaults));
    });
    return objects;
  }
}

function names(db: Database, kind: Kind): Statement<{ name: string }> {
  return prepare(db, `SELECT name FROM ${TABLE_OF[kind]} ORDER BY name`);
}
