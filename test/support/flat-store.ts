import type { DeviceStore } from '../../src/store/devices/port.ts';
import type { HistoryStore } from '../../src/store/history/port.ts';
import type { IncidentStore } from '../../src/store/incidents/port.ts';
import type { SharedStore, Store } from '../../src/store/objects/port.ts';
import type { Ports } from '../../src/store/open/ports.ts';
import type { ReportStore } from '../../src/store/reports/port.ts';

/** Those of `IncidentStore`, with names that no other port has. */
interface IncidentMethods {
  loadIncidents: IncidentStore['load'];
  putIncidents: IncidentStore['put'];
  leads: IncidentStore['leads'];
}

/** All ports of a store in one object, for tests that use many. */
export type FlatStore = Store &
  HistoryStore &
  ReportStore &
  Omit<DeviceStore, 'keptSince'> &
  IncidentMethods &
  Pick<Ports, 'close'>;

/** All ports of a store that several managers share. */
export type SharedFlatStore = FlatStore & SharedStore;

export function flat({ store, history, reports, devices, incidents, close }: Ports): FlatStore {
  return joined<FlatStore>({ close }, store, history, reports, devices, named(incidents));
}

/** Gives the methods names that no other port has. */
export function named(incidents: IncidentStore): IncidentMethods {
  return {
    loadIncidents: () => incidents.load(),
    putIncidents: (list) => incidents.put(list),
    leads: (now) => incidents.leads(now),
  };
}

/** Makes an object that has the methods of all of these; the first one that has a method is called. */
export function joined<T extends object>(...parts: Partial<T>[]): T {
  const methodOf = (key: PropertyKey): unknown => {
    const part = parts.find((each) => key in each);
    const method: unknown = part && Reflect.get(part, key, part);
    return typeof method === 'function' ? method.bind(part) : method;
  };
  return new Proxy({} as T, { get: (_, key) => methodOf(key) });
}
