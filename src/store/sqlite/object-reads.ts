import { inTurns, Pace } from '../../async/pace.ts';
import type { AppDefaults } from '../../desired/app.ts';
import type { Kind } from '../../desired/name.ts';
import { HoldfastError } from '../../errors.ts';
import { appContent, groupContent, type ObjectRow, storedApp, storedGroup } from '../rules/rows.ts';
import type { AppliedObject, StoredApp, StoredGroup } from '../store.ts';
import { type Database, prepare, type Statement } from './connection.ts';
import { findObject, TABLE_OF } from './rows.ts';

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
    this.#members = prepare(
      db,
      `SELECT name, oid, id, 0 AS prune_id, content, hash FROM ${TABLE_OF.app}
       WHERE name IN (SELECT value FROM json_each(?))`,
    );
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

  /** The group's apps as they are stored now, in no order and not parsed yet. */
  members({ content }: StoredGroup): ObjectRow[] {
    return this.#members.all(JSON.stringify(content.apps));
  }

  /**
   * The group's apps in the order of its list, of what `members` read; gives way to others on its way. Rejects as
   * `unavailable` where one is missing: a device that was told the rest would stop the missing app's containers.
   */
  async parseMembers(group: StoredGroup, rows: readonly ObjectRow[]): Promise<StoredApp[]> {
    const byName = new Map(rows.map((row) => [row.name, row]));
    const apps: StoredApp[] = [];
    await inTurns(group.content.apps, (name) => {
      const row = byName.get(name);
      if (row === undefined) throw missingApp(name, group.name);
      apps.push(storedApp(row, this.#defaults));
    });
    return apps;
  }

  /** All objects of one moment, not parsed yet. */
  all(): AppliedRow[] {
    return this.#all.all();
  }

  /** Parses them, and gives way to others on its way. */
  async parse(rows: readonly AppliedRow[]): Promise<AppliedObject[]> {
    const pace = new Pace();
    const objects: AppliedObject[] = [];
    for (const row of rows) {
      objects.push(appliedObject(row, this.#defaults));
      await pace.step();
    }
    return objects;
  }
}

function missingApp(app: string, group: string): HoldfastError {
  const message = `the store has dropped app "${app}" as outdated; the next pass applies it again`;
  return new HoldfastError('unavailable', message, { app, device_group: group });
}

function names(db: Database, kind: Kind): Statement<{ name: string }> {
  return prepare(db, `SELECT name FROM ${TABLE_OF[kind]} ORDER BY name`);
}

function appliedObject(row: AppliedRow, defaults: AppDefaults): AppliedObject {
  const { kind, name, path, blob } = row;
  const origin = path === null || blob === null ? null : { path, blob };
  if (kind === 'app') return { kind, name, origin, content: appContent(row.content, defaults) };
  return { kind, name, origin, content: groupContent(row.content) };
}
