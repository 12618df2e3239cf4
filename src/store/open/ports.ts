import type { AskStore } from '../asks/port.ts';
import type { DeviceStore } from '../devices/port.ts';
import type { HistoryStore } from '../history/port.ts';
import type { IncidentStore } from '../incidents/port.ts';
import type { SharedStore, Store } from '../objects/port.ts';
import type { ReportStore } from '../reports/port.ts';

/** What opening a store returns: a port for each kind of thing that it keeps. */
export interface Ports {
  store: Store;
  /** Null if no other process changes the store. */
  shared: SharedStore | null;
  history: HistoryStore;
  reports: ReportStore;
  devices: DeviceStore;
  asks: AskStore;
  incidents: IncidentStore;
  /**
   * Waits for the writes that are under way, and closes the store. Every later call rejects as `unavailable`, except
   * that a second `close` resolves.
   */
  close(): Promise<void>;
}
