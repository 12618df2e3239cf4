import { describe, expect, it } from 'vitest';
import { startManager, type TestManager } from '../support/manager.ts';

const FILES = {
  'apps/web.yaml': 'container_image: web:1\n',
  'apps/next.yaml': 'container_image: web:2\n',
  'device-groups/edge.yaml': 'apps: [web]\n',
  'device-groups/lab.yaml': 'apps: [next]\n',
  'devices/till-1.yaml': 'device_group: edge\nvariables: {TILL: "7"}\n',
  'devices/till-2.yaml': '',
};

const poll = (manager: TestManager, name: string, query = '', has?: string) =>
  manager.get(`/api/v2/devices/${name}/info${query}`, {
    headers: has === undefined ? {} : { 'if-none-match': has },
  });

describe('GET /devices/{device}/info', () => {
  it('is the reply of the group of its file, with the device', async () => {
    const manager = await startManager({ files: FILES });
    const { body: group } = await manager.get('/api/v2/device_groups/edge/info');
    const first = await poll(manager, 'till-1');
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      ...group,
      device: { name: 'till-1', device_group: 'edge', variables: { TILL: '7' } },
    });
    expect(first.headers.get('holdfast-device-group')).toBe('edge');
    const etag = first.headers.get('etag') ?? '';
    expect((await poll(manager, 'till-1', '', etag)).status).toBe(304);
    expect((await manager.get('/api/v2/devices/till-1')).body).toMatchObject({
      state: 'current',
      missing: [],
    });
    expect((await poll(manager, 'till-1', '?device_group=lab')).body.device.device_group).toBe('edge');
  });

  it('follows the device to another group, and shows a change of its variables and apps', async () => {
    const manager = await startManager({ files: FILES });
    const etags = [(await poll(manager, 'till-1')).headers.get('etag') ?? ''];
    const change = async (path: string, fields: object) => {
      await manager.put(path, fields);
      const last = etags.at(-1);
      if (path.includes('/devices/'))
        expect((await manager.get('/api/v2/devices/till-1')).body.declared).toBe(true);
      const reply = await poll(manager, 'till-1', '', last);
      etags.push(reply.headers.get('etag') ?? '');
      return reply;
    };
    const variables = await change('/api/v2/devices/till-1/update', { variables: { TILL: '8' } });
    expect([variables.status, variables.body.device.variables]).toEqual([200, { TILL: '8' }]);
    const app = await change('/api/v2/apps/web/update', { container_image: 'web:9' });
    expect(app.body.apps[0].container_image).toBe('web:9');
    const moved = await change('/api/v2/devices/till-1/update', { device_group: 'lab' });
    expect([moved.body.apps_list, moved.body.device.device_group]).toEqual([['next'], 'lab']);
    const orders = etags.map((etag) => Number(/\.(\d+)-/.exec(etag)?.[1]));
    expect(orders).toEqual([...orders].sort((a, b) => a - b));
    expect(new Set(etags).size).toBe(4);
  });

  it('serves a device without a file in the group that it asks for, and never stops one by mistake', async () => {
    const manager = await startManager({ files: FILES });
    const asked = await poll(manager, 'new-1', '?device_group=lab');
    expect(asked.body).toMatchObject({
      apps_list: ['next'],
      device: { name: 'new-1', device_group: 'lab', variables: {} },
    });
    expect((await manager.get('/api/v2/devices/new-1')).body).toMatchObject({
      declared: false,
      device_group: 'lab',
    });
    expect((await poll(manager, 'till-2', '?device_group=lab')).status).toBe(200);
    const without = await poll(manager, 'till-2');
    expect([without.status, without.headers.get('content-type')]).toEqual([503, 'text/plain; charset=utf-8']);
    expect(await poll(manager, 'new-2')).toMatchObject({ status: 403, body: { device_exists: false } });
    expect(await poll(manager, 'new-2', '?device_group=nowhere')).toMatchObject({
      status: 403,
      body: { device_group_exists: false },
    });
  });
});
