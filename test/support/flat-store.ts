import type { Ports } from '../../src/store/open/ports.ts';
import type { ReportStore } from '../../src/store/reports/port.ts';
import type { Store } from '../../src/store/store.ts';

/** All ports of a store in one object, for tests that use many. */
export type FlatStore = Store & ReportStore & Pick<Ports, 'close'>;

export function flat({ store, reports, close }: Ports): FlatStore {
  const others: Partial<FlatStore> = {
    insertReports: (...call) => reports.insertReports(...call),
    reports: (...call) => reports.reports(...call),
    expireReports: (...call) => reports.expireReports(...call),
    close,
  };
  return new Proxy(store as FlatStore, {
    get: (target, key) => Reflect.get(others, key) ?? Reflect.get(target, key, target)?.bind(target),
  });
}
