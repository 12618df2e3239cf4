import { forEachYielding, Pace } from '../../async/pace.ts';
import type { CounterKind, CounterRow } from '../../ids/id-store.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import { KINDS, type Kind, parseKey } from '../../protocol/name.ts';
import type { Session } from '../../sqlite/session.ts';
import { type FleetObject, type FleetState, isApplied } from '../fleet.ts';
import type { Acts } from '../history/sqlite-acts.ts';
import type { NewOid } from '../object-id.ts';
import type {
  AppliedObject,
  AtRevision,
  DeviceInfo,
  GroupInfo,
  Store,
  StoredOf,
  StoreState,
} from './port.ts';
import { appliedObject, appsIn, deviceInfo, groupInfo, storedObject } from './rules/rows.ts';
import { WorkingSet } from './rules/working-set.ts';
import { type CounterPosition, type FleetReads, type FleetTables, PAGE } from './sqlite-tables.ts';
import { ObjectWrites, type Write } from './writes.ts';

/** What the objects of a store in SQLite depend on. */
export interface SqliteObjectParts {
  session: Session;
  /** On the connection that reads, and on the one that writes. */
  reads: FleetReads;
  tables: FleetTables;
  acts: Acts;
  newOid: NewOid;
  defaults: AppDefaults;
}

/** The objects of a store in one SQLite file. */
export class SqliteObjects extends ObjectWrites implements Store {
  readonly #parts: SqliteObjectParts;

  constructor(parts: SqliteObjectParts) {
    super();
    this.#parts = parts;
  }

  async ping(): Promise<void> {
    await this.state();
  }

  /** Rejects as `unavailable` if the files are gone. Passes, probes and replies to devices call this first. */
  async state(): Promise<StoreState> {
    this.#parts.session.checkFiles();
    return this.lastState();
  }

  /** Reads the state even if the files are gone, so that the ids that were given until then can be recorded. */
  async lastState(): Promise<StoreState> {
    const { sequence, attempted, applied, fleet, rules, seededFrom, idSequence } = await this.#read((reads) =>
      reads.state(),
    );
    return { sequence, attempted, applied, fleet, rules, seededFrom, idSequence, mark: null };
  }

  async appliedObjects(): Promise<AppliedObject[]> {
    const objects: AppliedObject[] = [];
    const rows = await this.#read((reads) => reads.all());
    await forEachYielding(rows.filter(isApplied), (row) => {
      objects.push(appliedObject(row, this.#parts.defaults));
    });
    return objects;
  }

  names(kind: Kind): Promise<AtRevision<string[]>> {
    return this.#read((reads) => ({ value: reads.names(kind), revision: revisionOf(reads.state()) }));
  }

  object<K extends Kind>(kind: K, name: string): Promise<AtRevision<StoredOf[K] | null>> {
    return this.#read((reads) => {
      const [row] = reads.objects(kind, [name]);
      const value = isApplied(row) ? (storedObject(row, this.#parts.defaults) as StoredOf[K]) : null;
      return { value, revision: revisionOf(reads.state()) };
    });
  }

  async groupInfo(name: string): Promise<GroupInfo | null> {
    const { session, defaults } = this.#parts;
    session.checkFiles();
    const found = await this.#read((reads) => {
      const [group] = reads.objects('device_group', [name]);
      if (!isApplied(group)) return null;
      return { group, apps: reads.objects('app', appsIn(group)).filter(isApplied), state: reads.state() };
    });
    return found && session.run(() => groupInfo(found, defaults));
  }

  async deviceInfo(name: string): Promise<DeviceInfo | null> {
    this.#parts.session.checkFiles();
    return this.#read((reads) => {
      const [row] = reads.objects('device', [name]);
      return isApplied(row) ? deviceInfo(row, reads.state()) : null;
    });
  }

  /** Each page is read in a turn of its own. A counter that changes meanwhile can be returned twice; the last is the newest. */
  async counters(sinceIdSequence: number): Promise<CounterRow[]> {
    const pace = new Pace();
    const { allChanged } = await this.#read((reads) => reads.state());
    const rows: CounterRow[] = [];
    const changed = allChanged > sinceIdSequence ? 0 : sinceIdSequence + 1;
    let position: CounterPosition = { changed, kind: '', name: '' };
    for (;;) {
      await pace.step();
      const from = position;
      const page = await this.#read((reads) => reads.counters(from));
      for (const { kind, name, last, hash } of page)
        rows.push({ kind: KIND_STRINGS[kind], name, last, hash });
      const lastRow = page.at(-1);
      if (lastRow === undefined || page.length < PAGE) return rows;
      position = lastRow;
    }
  }

  protected write<T>({ keys, rules, check, isLosable = false }: Write<T>): Promise<T> {
    const { session, tables, acts, newOid, defaults } = this.#parts;
    const write = async (): Promise<T> => {
      const state = tables.state();
      check?.(state);
      const work = new WorkingSet({ state, objects: await load(tables, keys), newOid, defaults });
      const result = await rules(work);
      const changes = work.changes();
      await tables.put(state, changes);
      if (changes.act !== null) acts.add(changes.act);
      return result;
    };
    const level = isLosable ? 'NORMAL' : 'FULL';
    return session.writeMany(keys === 'groups' ? 0 : keys.length, write, level);
  }

  #read<T>(read: (reads: FleetReads) => T): Promise<T> {
    return this.#parts.session.read(() => read(this.#parts.reads));
  }
}

/** One string for each kind: the driver makes a new one for each row, and the caller keeps many rows. */
const KIND_STRINGS: Readonly<Record<CounterKind, CounterKind>> = {
  app: 'app',
  device_group: 'device_group',
  device: 'device',
  prune: 'prune',
};

function revisionOf({ applied }: FleetState): string | null {
  return applied?.revision ?? null;
}

/** Loads the objects with these keys, or all groups. Yields to other work. */
async function load(tables: FleetTables, keys: readonly string[] | 'groups'): Promise<FleetObject[]> {
  if (keys === 'groups') return tables.objects('device_group', tables.names('device_group'));
  const wanted = Array.from(new Set(keys), parseKey);
  const pace = new Pace();
  const found: FleetObject[] = [];
  for (const kind of KINDS) {
    const names = wanted.filter((key) => key.kind === kind).map(({ name }) => name);
    for (let at = 0; at < names.length; at += PAGE) {
      found.push(...tables.objects(kind, names.slice(at, at + PAGE)));
      await pace.step();
    }
  }
  return found;
}
