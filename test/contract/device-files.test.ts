import { describe, expect, it } from 'vitest';
import { startManager } from '../support/manager.ts';

const FILES = {
  'apps/web.yaml': 'container_image: web:1\n',
  'device-groups/edge.yaml': 'apps: [web]\n',
  'device-groups/lab.yaml': 'apps: []\n',
};
const URL = '/api/v2/devices/till-1';

describe('devices as files', () => {
  it('are created, changed and deleted, each by a commit', async () => {
    const manager = await startManager({ files: FILES });
    const created = await manager.post(URL, { device_group: 'edge', variables: { TILL: '7' } });
    expect(created.status).toBe(200);
    expect(created.body).toMatchObject({
      device: 'till-1',
      device_group: 'edge',
      variables: { TILL: '7' },
      declared: true,
      state: 'expected',
      last_seen: null,
      has: null,
      missing: [],
      report: null,
    });
    expect((await manager.get(URL)).body).toEqual(created.body);
    expect((await manager.get('/api/v2/devices?state=expected')).body).toMatchObject({ total: 1 });
    expect((await manager.get('/api/v2/convergence')).body).toMatchObject({ totals: { expected: 1 } });

    const etag = created.headers.get('etag') ?? '';
    const moved = await manager.put(
      `${URL}/update`,
      { device_group: 'lab' },
      { headers: { 'if-match': etag } },
    );
    expect([moved.status, moved.body]).toMatchObject([
      202,
      { device_group: 'lab', variables: { TILL: '7' } },
    ]);
    expect(
      (await manager.put(`${URL}/update`, { device_group: 'edge' }, { headers: { 'if-match': etag } }))
        .status,
    ).toBe(412);
    expect((await manager.get('/api/v2/files/device/till-1')).body).toMatchObject({
      text: 'device_group: lab\nvariables:\n  TILL: "7"\n',
    });
    const replaced = await manager.post(`${URL}/update`);
    expect([replaced.status, replaced.body]).toMatchObject([202, { device_group: null, variables: {} }]);
    expect((await manager.delete(URL)).status).toBe(200);
    expect(await manager.get(URL)).toMatchObject({ status: 403, body: { device_exists: false } });

    const { body: history } = await manager.get('/api/v2/history?object=device/till-1');
    expect(history.entries.map(({ subject }: { subject: string }) => subject)).toEqual([
      'device till-1: delete',
      'device till-1: variables, device_group lab -> none',
      'device till-1: device_group edge -> lab',
      'device till-1: create',
    ]);
    expect(history.entries[2].changes).toMatchObject([
      { object: 'device/till-1', change: 'update', fields: ['device_group'], ids: { device_id: 2 } },
    ]);
    const back = await manager.post('/api/v2/rollback', {
      to: history.entries[2].revision,
      objects: ['device/till-1'],
      reason: 'it is there',
    });
    expect(back.status).toBe(202);
    expect((await manager.get(URL)).body).toMatchObject({ device_group: 'lab', variables: { TILL: '7' } });
  });

  it('can have nothing, and refuse what is wrong', async () => {
    const manager = await startManager({ files: FILES });
    expect(await manager.post(URL)).toMatchObject({
      status: 200,
      body: { device_group: null, variables: {} },
    });
    expect(await manager.post(URL, {})).toMatchObject({ status: 403, body: { device_exists: true } });
    expect(await manager.put('/api/v2/devices/till-2/update', { device_group: 'edge' })).toMatchObject({
      status: 403,
      body: { device_exists: false },
    });
    expect(await manager.put(`${URL}/update`, { device_group: 'nowhere' })).toMatchObject({
      status: 403,
      body: { device_group_exists: false },
    });
    expect(await manager.put(`${URL}/update`, { variables: { name: 'x' } })).toMatchObject({
      status: 400,
      body: { invalid_parameters: { variables: expect.stringMatching(/not a valid name of a variable/) } },
    });
    expect((await manager.post('/api/v2/devices/till-3', ['a'])).status).toBe(400);
    const { body: record } = await manager.get(URL);
    expect(await manager.post(`${URL}/update`, record)).toMatchObject({ status: 202, body: record });
  });

  it('keep their group from being deleted, until they move', async () => {
    const manager = await startManager({
      files: { ...FILES, 'devices/till-1.yaml': 'device_group: edge\n' },
    });
    expect(await manager.delete('/api/v2/device_groups/edge')).toMatchObject({
      status: 409,
      body: { devices: ['till-1'], devices_total: 1 },
    });
    const changes = [
      { op: 'delete', kind: 'device_group', name: 'edge' },
      { op: 'change', kind: 'device', name: 'till-1', fields: { device_group: 'lab' } },
      { op: 'create', kind: 'device', name: 'till-2' },
    ];
    const set = await manager.post('/api/v2/changes', { changes });
    expect(set).toMatchObject({
      status: 202,
      body: {
        objects: {
          'device/till-1': { device: 'till-1', device_group: 'lab' },
          'device/till-2': { variables: {} },
        },
      },
    });
    expect((await manager.get('/api/v2/device_groups/edge')).status).toBe(403);
  });
});
