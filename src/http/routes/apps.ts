import { AppRecord } from '../../protocol/info.ts';
import { objectRoutes } from './objects.ts';

/** The configuration of apps (docs/contract.md, 4.2). */
export const appRoutes = objectRoutes({
  kind: 'app',
  tag: 'apps',
  title: 'App',
  summaries: {
    list: 'List the names of all apps',
    read: 'Read an app',
    create: 'Create an app',
    delete: 'Delete an app and remove it from every device group',
    replace: 'Replace all fields; omitted fields revert to their defaults',
    change: 'Change some fields; omitted fields keep their values',
  },
  record: AppRecord,
});
