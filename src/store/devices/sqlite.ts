import { Pace } from '../../async/pace.ts';
import type { DeviceGroup } from '../../protocol/device-group.ts';
import { type Database, prepare, type Statement } from '../../sqlite/connection.ts';
import type { Session } from '../../sqlite/session.ts';
import { type OrderRow, type Served, servedOf } from '../served.ts';
import type { CheckSpace } from '../space.ts';
import type { DeviceStore, KeptSlot } from './port.ts';
import type { DeviceSlot } from './slot.ts';

/** What the devices of a store in SQLite depend on. */
export interface SqliteDeviceParts {
  session: Session;
  reader: Database;
  writer: Database;
  checkSpace: CheckSpace;
}

/** The devices of a store in SQLite, which no other manager shares. */
export function sqliteDevices({ session, reader, writer, checkSpace }: SqliteDeviceParts): DeviceStore {
  const reads = prepareReads(reader);
  const table = new DeviceTable(writer);
  return {
    served: () => session.read(() => reads.served()),
    load: async (each) => {
      for (let after: string | null = ''; after !== null; )
        after = await session.read(() => reads.page(after ?? '', each));
      return session.read(() => reads.heardAt());
    },
    // NORMAL: what a loss of power undoes, devices say again.
    put: (slots, at) =>
      session.writeAsync(async () => {
        checkSpace('reports');
        await table.put(slots, at);
      }, 'NORMAL'),
    drop: (names) => session.write(() => table.drop(names), 'NORMAL'),
    forget: (name) => session.write(() => table.drop([name]), 'NORMAL'),
    latestReport: (name) => session.read(() => reads.report(name)),
    keptSince: null,
  };
}

/** Slots that are read in one turn of the event loop. */
const PAGE = 2000;

function prepareReads(db: Database) {
  const groups = prepare<{ name: string; content: string }>(
    db,
    "SELECT name, content FROM objects WHERE kind = 'device_group'",
  );
  const devices = prepare<{ name: string; group: string | null }>(
    db,
    "SELECT name, content ->> '$.device_group' AS \"group\" FROM objects WHERE kind = 'device'",
  );
  const orders = prepare<OrderRow>(
    db,
    `SELECT c.kind, c.name, c.last AS id, max(c.changed, (SELECT all_changed FROM state)) AS changed FROM counters AS c
     JOIN objects AS o ON o.name = c.name AND o.kind = iif(c.kind = 'prune', 'device_group', c.kind)`,
  );
  const state = prepare<{ fleet: string; applied_revision: string | null; devices_heard_at: number | null }>(
    db,
    'SELECT fleet, applied_revision, devices_heard_at FROM state',
  );
  const slots = prepare<{ name: string; slot: string }>(
    db,
    `SELECT name, slot FROM devices WHERE name > ? ORDER BY name LIMIT ${PAGE}`,
  );
  const report = prepare<{ body: string }>(db, 'SELECT body FROM device_reports WHERE name = ?');
  return {
    served: (): Served => {
      const { fleet = '', applied_revision: revision = null } = state.get() ?? {};
      const lists = groups
        .all()
        .map(({ name, content }) => ({ name, apps: (JSON.parse(content) as DeviceGroup).apps }));
      return servedOf({ fleet, revision }, { groups: lists, devices: devices.all() }, orders.all());
    },
    /** Returns the name after which the next page begins; null after the last one. */
    page: (after: string, each: (slots: DeviceSlot[]) => void): string | null => {
      const rows = slots.all(after);
      each(rows.map(({ slot }) => JSON.parse(slot) as DeviceSlot));
      return rows.length < PAGE ? null : (rows.at(-1)?.name ?? null);
    },
    heardAt: () => state.get()?.devices_heard_at ?? null,
    report: (name: string) => report.get(name)?.body ?? null,
  };
}

/** Changes slots, inside the caller's transaction. */
class DeviceTable {
  readonly #put: Statement<never>;
  readonly #putReport: Statement<never>;
  readonly #drop: Statement<never>;
  readonly #dropReports: Statement<never>;
  readonly #setHeardAt: Statement<never>;

  constructor(db: Database) {
    this.#put = prepare(
      db,
      'INSERT INTO devices (name, slot) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET slot = excluded.slot',
    );
    this.#putReport = prepare(
      db,
      'INSERT INTO device_reports (name, body) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET body = excluded.body',
    );
    this.#drop = prepare(db, 'DELETE FROM devices WHERE name IN (SELECT value FROM json_each(?))');
    this.#dropReports = prepare(
      db,
      'DELETE FROM device_reports WHERE name IN (SELECT value FROM json_each(?))',
    );
    this.#setHeardAt = prepare(db, 'UPDATE state SET devices_heard_at = ?');
  }

  /** Yields to other work. */
  async put(slots: readonly KeptSlot[], at: number): Promise<void> {
    const pace = new Pace();
    for (const { slot, report } of slots) {
      this.#put.run(slot.name, JSON.stringify(slot));
      if (report !== undefined) this.#putReport.run(slot.name, report);
      await pace.step();
    }
    this.#setHeardAt.run(at);
  }

  drop(names: readonly string[]): void {
    const list = JSON.stringify(names);
    this.#drop.run(list);
    this.#dropReports.run(list);
  }
}
