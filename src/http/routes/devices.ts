import type { FastifyInstance } from 'fastify';
import * as z from 'zod';
import { DEVICE_SORTS, listDevices, type Place } from '../../fleet/list.ts';
import { DEVICE_STATES, DevicePage, DeviceRecord } from '../../protocol/device.ts';
import { NAME_PATTERN, Name } from '../../protocol/name.ts';
import { tagsOf } from '../../store/objects/if-match.ts';
import type { Api } from '../api.ts';
import { csvOf } from '../csv.ts';
import { commonErrors, json, parameterErrors } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { deviceAbsent, deviceNameIn } from '../request/device.ts';
import { pageSize } from '../request/page.ts';
import { Text } from '../request/query.ts';
import { deviceRecord } from './device-files.ts';

const CURSOR = /^(?:[1-9]\d{0,15}|0)~/;

const Query = z.strictObject({
  group: Text.optional().describe('Devices of this group.'),
  state: z.enum(DEVICE_STATES, { error: `must be one of ${DEVICE_STATES.join(', ')}` }).optional(),
  app: Text.optional().describe(
    'Devices whose group lists this app; with `state=behind` or `failed`, those that lack it or on which it fails.',
  ),
  access: z.enum(['own', 'shared'], { error: 'must be own or shared' }).optional(),
  worker: Text.optional().describe('Devices whose worker has exactly this version.'),
  q: Text.optional().describe('A part of the name.'),
  sort: z.enum(DEVICE_SORTS, { error: `must be one of ${DEVICE_SORTS.join(', ')}` }).default('name'),
  format: z.enum(['json', 'csv'], { error: 'must be json or csv' }).default('json'),
  page_size: pageSize(50),
  after: Text.refine(
    (text) => CURSOR.test(text) && NAME_PATTERN.test(text.replace(CURSOR, '')),
    'must be a cursor, as `next` of the page before has it',
  ).optional(),
});

const tag = 'devices';
const listRoute = route('GET', '/api/v2/devices', {
  operationId: 'listDevices',
  action: 'read',
  summary: 'List the devices, and what each of them has, lacks and fails at',
  tag,
  query: Query,
  reply: [200, json('A page of devices. With `format=csv`, all of them in lines.', DevicePage)],
  errors: { ...commonErrors, ...parameterErrors },
});

const params = z.object({ device_name: Name });
const DeviceAbsent = z.object({ device_exists: z.literal(false) }).meta({ id: 'DeviceAbsent' });
const absent = { 403: json('No such device is known, or the request is not permitted.', DeviceAbsent) };
const readRoute = route('GET', '/api/v2/devices/:device_name', {
  operationId: 'getDevice',
  action: 'read',
  summary: 'Read a device: its state, what it lacks, and its latest report',
  tag,
  params,
  reply: [200, json('The device.', DeviceRecord)],
  errors: { ...commonErrors, ...parameterErrors, ...absent },
});
const Forgotten = z
  .object({ device: z.string(), forgotten: z.literal(true) })
  .meta({ id: 'ForgottenDevice' });
const forgetRoute = route('POST', '/api/v2/devices/:device_name/forget', {
  operationId: 'forgetDevice',
  action: 'operate',
  summary: 'Forget what was seen of a device; one that still polls is seen again',
  tag,
  params,
  reply: [200, json('It is forgotten.', Forgotten)],
  errors: { ...commonErrors, ...parameterErrors, ...absent },
});

/** The devices that this manager hears (docs/fleet.md). */
export function deviceRoutes(app: FastifyInstance, { fleet, lags, store }: Api): void {
  listRoute(app, async (request, reply) => {
    const { format, after, sort, page_size: size, q, ...filters } = request.query;
    const known = await fleet.known();
    const place = { sort, after: after === undefined ? null : placeOf(after) };
    const isCsv = format === 'csv';
    const limit = isCsv ? known.slots.size + known.standard.served.devices.size : size;
    const { rows, next, total } = await listDevices({ ...filters, text: q }, place, limit, known, lags);
    if (isCsv) return reply.type('text/csv; charset=utf-8').send(await csvOf(COLUMNS, rows));
    return { devices: rows, next: next === null ? null : cursorOf(next), total } satisfies DevicePage;
  });
  readRoute(app, async (request, reply) => {
    const name = deviceNameIn(request);
    const { value: declared } = await store.object('device', name);
    const record = await deviceRecord(name, declared, { fleet, lags });
    if (record === null) throw deviceAbsent(name);
    if (declared !== null) reply.header('etag', tagsOf(declared)[0]);
    return record;
  });
  forgetRoute(app, async (request) => {
    const name = deviceNameIn(request);
    if (!(await fleet.forget(name))) throw deviceAbsent(name);
    return { device: name, forgotten: true };
  });
}

/** The columns of a list in lines, and what stands in each. */
const COLUMNS: Readonly<Record<string, (row: DevicePage['devices'][number]) => string>> = {
  device: ({ device }) => device,
  device_group: ({ device_group }) => device_group ?? '',
  declared: ({ declared }) => String(declared),
  state: ({ state }) => state,
  since: ({ since }) => since ?? '',
  last_seen: ({ last_seen }) => last_seen ?? '',
  revision: ({ has }) => has?.revision ?? '',
  seq: ({ has }) => String(has?.seq ?? ''),
  missing: ({ missing }) => missing.join(' '),
  failed: ({ failed }) =>
    failed.map(({ app, error }) => (app === null ? error : `${app}: ${error}`)).join('; '),
  access: ({ access }) => access ?? '',
  conflict: ({ conflict }) => String(conflict),
  worker: ({ worker }) => worker ?? '',
};

/** A cursor is the value by which the last row of a page was sorted, and its name. */
function cursorOf({ value, name }: Place): string {
  return `${value}~${name}`;
}

function placeOf(cursor: string): Place {
  return { value: Number.parseInt(cursor, 10), name: cursor.replace(CURSOR, '') };
}
