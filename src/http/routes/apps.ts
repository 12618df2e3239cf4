import { AppChange, AppFields } from '../../desired/app.ts';
import { GIVEN_FIELDS } from '../../desired/fields.ts';
import { bodyDocs } from '../openapi/documented.ts';
import { AppRecord } from '../records.ts';
import { type BodyRule, readFields } from '../request/fields.ts';
import { objectRoutes } from './objects.ts';

const ignored = GIVEN_FIELDS.app;

const whole: BodyRule<AppFields> = { schema: AppFields, ignored, required: ['container_image'] };
const partial: BodyRule<AppChange> = { schema: AppChange, ignored, required: null };

/** Apps as configuration. */
export const appRoutes = objectRoutes({
  kind: 'app',
  tag: 'apps',
  collection: 'apps',
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
  whole: bodyDocs(whole, 'AppFields'),
  partial: bodyDocs(partial, 'AppChange'),
  names: (store) => store.appNames(),
  create: async (request, name) => ({ kind: 'app', op: 'create', name, fields: readFields(request, whole) }),
  replace: async (request, name) => ({
    kind: 'app',
    op: 'replace',
    name,
    fields: readFields(request, whole),
  }),
  change: async (request, name) => ({
    kind: 'app',
    op: 'change',
    name,
    fields: readFields(request, partial),
  }),
});
