// Uses a client made by openapi-typescript, with openapi-fetch: HOLDFAST, CREDENTIALS. Prints what it got as JSON.
import createClient from 'openapi-fetch';
import type { components, paths } from './api.d.ts';

const { HOLDFAST = '', CREDENTIALS = '' } = process.env;
const client = createClient<paths>({
  baseUrl: HOLDFAST,
  headers: { authorization: `Basic ${Buffer.from(CREDENTIALS).toString('base64')}` },
});

const shop = { path: { app_name: 'shop' } };
const till = { path: { device_group_name: 'tills' } };
const body: components['schemas']['AppFieldsInput'] = {
  container_image: 'nginx:1.26',
  starting_ports: [80, { '8443': '443' }],
  containers_per: { cpu: 0.5 },
  env_vars: { LOG_LEVEL: 'debug' },
};

const created = await client.POST('/api/v2/apps/{app_name}', { params: shop, body });
const again = await client.POST('/api/v2/apps/{app_name}', { params: shop, body });
await client.POST('/api/v2/device_groups/{device_group_name}', { params: till, body: { apps: ['shop'] } });

// A record can be sent back, with one field changed.
if (created.data === undefined) throw new Error(JSON.stringify(created.error));
const updated = await client.POST('/api/v2/apps/{app_name}/update', {
  params: shop,
  body: { ...created.data, container_image: 'nginx:1.27' },
});
// @ts-expect-error: an image is a text, which shows that bodies have types.
await client.PUT('/api/v2/apps/{app_name}/update', { params: shop, body: { container_image: 7 } });

const info = await client.GET('/api/v2/device_groups/{device_group_name}/info', { params: till });
const etag = info.response.headers.get('etag') ?? '';
const unchanged = await client.GET('/api/v2/device_groups/{device_group_name}/info', {
  params: { ...till, header: { 'If-None-Match': etag } },
});

const report = { hostname: 'till-1', device_group: 'tills', report_creation_time: 1_700_000_000 };
const accepted = await client.POST('/api/v2/reports', {
  body: [
    { ...report, updated: true, memory_usage: { used: 12 } },
    { ...report, updated: false },
  ],
});
const reports = await client.GET('/api/v2/reports', { params: { query: { updated: true, page_size: 5 } } });

const { error } = again;
const conflict = typeof error === 'object' && 'app_exists' in error ? error.app_exists : null;
process.stdout.write(
  JSON.stringify({
    again: [again.response.status, conflict],
    updated: updated.data?.container_image,
    ports: updated.data?.starting_ports,
    info: info.data?.apps.map((app) => [app.app_name, app.container_image, app.env_vars['LOG_LEVEL']]),
    unchanged: unchanged.response.status,
    accepted: accepted.data?.accepted,
    reports: reports.data?.data.map((one) => [one.hostname, one._id.$oid]),
    last: reports.data?.last_id ?? null,
  }),
);
