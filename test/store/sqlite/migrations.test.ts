import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kindOf } from '../../../src/errors.ts';
import { type Database, prepare } from '../../../src/sqlite/connection.ts';
import { checkHeader, MIGRATIONS, type Migration, migrate } from '../../../src/store/schema/migrations.ts';
import { LAST_UNRELEASED } from '../../../src/store/schema/version.ts';

let db: Database;
beforeEach(() => {
  db = new DatabaseSync(':memory:');
});
afterEach(() => db.close());

const addColour: Migration = (target) =>
  target.exec("ALTER TABLE objects ADD COLUMN colour TEXT DEFAULT 'red'");
const fill: Migration = (target) => target.exec("UPDATE objects SET colour = 'blue' WHERE name = 'web'");
const fail: Migration = (target) => target.exec('CREATE TABLE half (x); INSERT INTO nowhere VALUES (1)');

/** The version after all `MIGRATIONS`. */
const NEWEST = LAST_UNRELEASED + MIGRATIONS.length;

function versionOf(target: Database): number | undefined {
  return prepare<{ user_version: number }>(target, 'PRAGMA user_version').get()?.user_version;
}

function addApp(): void {
  db.exec("INSERT INTO objects (kind, name, oid, content, hash) VALUES ('app', 'web', 'aa', '{}', 'hh')");
}

describe('migrate', () => {
  it('brings an empty database to the newest version', () => {
    migrate(db, [...MIGRATIONS, addColour], 'fleet');
    expect(versionOf(db)).toBe(NEWEST + 1);
    expect(prepare<{ fleet: string }>(db, 'SELECT fleet FROM state').get()?.fleet).toBe('fleet');
    addApp();
    expect(prepare<{ colour: string }>(db, 'SELECT colour FROM objects').get()?.colour).toBe('red');
  });

  it('brings an older database to the newest version, and keeps its rows', () => {
    migrate(db, MIGRATIONS, 'fleet');
    addApp();
    migrate(db, [...MIGRATIONS, addColour, fill], 'another fleet');
    expect(versionOf(db)).toBe(NEWEST + 2);
    const row = prepare<{ oid: string; colour: string }>(db, 'SELECT oid, colour FROM objects').get();
    expect({ ...row }).toEqual({ oid: 'aa', colour: 'blue' });
    expect(prepare<{ fleet: string }>(db, 'SELECT fleet FROM state').get()?.fleet).toBe('fleet');
  });

  it('does not change a database of the newest version', () => {
    migrate(db, MIGRATIONS, 'fleet');
    migrate(db, MIGRATIONS, 'another fleet');
    expect(versionOf(db)).toBe(NEWEST);
  });

  it('stops before a migration that fails, and continues there the next time', () => {
    expect(() => migrate(db, [...MIGRATIONS, addColour, fail], 'fleet')).toThrow('nowhere');
    expect(versionOf(db)).toBe(NEWEST + 1);
    expect(prepare(db, "SELECT 1 FROM sqlite_schema WHERE name = 'half'").get()).toBeUndefined();
    migrate(db, [...MIGRATIONS, addColour, fill], 'fleet');
    expect(versionOf(db)).toBe(NEWEST + 2);
  });
});

/** How SQLite describes what a database contains. */
function layoutOf(target: Database): string {
  const parts = prepare<{ sql: string }>(target, 'SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL').all();
  return parts.map(({ sql }) => `${sql};\n`).join('');
}

describe('createSchema', () => {
  it('makes what stores of the first version contain (once that is released, append to MIGRATIONS)', async () => {
    migrate(db, MIGRATIONS.slice(0, 1), 'fleet');
    await expect(layoutOf(db)).toMatchFileSnapshot('schema.sql');
  });
});

describe('checkHeader', () => {
  function verdict(migrations: readonly Migration[]): string {
    try {
      checkHeader(db, migrations);
      return 'fine';
    } catch (error) {
      return kindOf(error);
    }
  }

  it('accepts a new database, an older one and one of the newest version', () => {
    expect(verdict(MIGRATIONS)).toBe('fine');
    migrate(db, MIGRATIONS, 'fleet');
    expect(verdict(MIGRATIONS)).toBe('fine');
    expect(verdict([...MIGRATIONS, addColour])).toBe('fine');
  });

  it('refuses a newer database', () => {
    migrate(db, [...MIGRATIONS, addColour], 'fleet');
    expect(verdict(MIGRATIONS)).toBe('invalid');
  });

  it('refuses a database with the tables of another program', () => {
    db.exec('CREATE TABLE x (y)');
    expect(verdict(MIGRATIONS)).toBe('invalid');
  });
});
