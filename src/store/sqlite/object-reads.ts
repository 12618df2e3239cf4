import { forEachYielding } from '../../async/pace.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import type { Kind } from '../../protocol/name.ts';
import { type Database, prepare, type Statement } from '../../sqlite/connection.ts';
import { appliedObject, groupContent, type ObjectRow, storedApp, storedGroup } from '../rules/rows.ts';
import type { AppliedObject, StoredApp, StoredGroup } from '../store.ts';
import { FIND_OBJECT, fileOrigin, NAMES, SELECT_OBJECTS } from './rows.ts';

/** The columns of an object that `AppliedObject` is made from. */
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
  readonly #find: Statement<ObjectRow>;
  readonly #names: Statement<{ name: string }>;
  readonly #members: Statement<ObjectRow>;
  readonly #all: Statement<AppliedRow>;

  constructor(db: Database, defaults: AppDefaults) {
    this.#defaults = defaults;
    this.#find = prepare(db, FIND_OBJECT);
    this.#names = prepare(db, NAMES);
    this.#members = prepare(
      db,
      `${SELECT_OBJECTS} WHERE o.kind = 'app' AND o.name IN (SELECT value FROM json_each(?))`,
    );
    this.#all = prepare(db, 'SELECT kind, name, content, path, blob FROM objects');
  }

  names(kind: Kind): string[] {
    return this.#names.all(kind).map((row) => row.name);
  }

  app(name: string): StoredApp | null {
    const row = this.#find.get('app', name);
    return row === undefined ? null : storedApp(row, this.#defaults);
  }

  group(name: string): StoredGroup | null {
    const row = this.#find.get('device_group', name);
    return row === undefined ? null : storedGroup(row);
  }

  /** Returns the row of a group, and those of its apps, in any order, without those that are missing. */
  withMembers(name: string): { group: ObjectRow; apps: ObjectRow[] } | null {
    const group = this.#find.get('device_group', name);
    if (group === undefined) return null;
    return { group, apps: this.#members.all(JSON.stringify(groupContent(group.content).apps)) };
  }

  /** Returns the rows of all objects. */
  all(): AppliedRow[] {
    return this.#all.all();
  }

  /** Parses rows. Yields to other work. */
  async parse(rows: readonly AppliedRow[]): Promise<AppliedObject[]> {
    const objects: AppliedObject[] = [];
    await forEachYielding(rows, (row) => {
      objects.push(appliedObject(row.kind, row.name, row.content, fileOrigin(row), this.#defaults));
    });
    return objects;
  }
}
