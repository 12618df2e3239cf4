import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import {
  changedLines,
  commitCount,
  expectNothingWritten,
  expectRefused,
  lastCommit,
} from '../support/manager-state.ts';
import { JSON_TYPE, sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';
import { groupRecord, INVALID_NAMES, NOT_JSON, NOT_OBJECTS, REASON } from './expected.ts';

const GROUPS = '/api/v2/device_groups';
const EDGE = `${GROUPS}/edge`;

describe('docs/contract.md, 4.1: device groups', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it('GET /api/v2/device_groups: 200 with device_groups, an array of names', async () => {
    const reply = await manager().get(GROUPS);
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ device_groups: ['edge'] });
  });

  it('GET /api/v2/device_groups/{device_group_name}: 200 with the device group', async () => {
    const reply = await manager().get(EDGE);
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual(groupRecord('edge', ['web', 'cron']));
  });

  it('POST /api/v2/device_groups/{device_group_name}: 200 with the device group', async () => {
    const commits = await commitCount(manager().repository);
    const reply = await manager().post(`${GROUPS}/new`, { apps: ['cron', 'web'] });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual(groupRecord('new', ['cron', 'web'], { device_group_id: 1, prune_id: 1 }));
    expect((await manager().get(`${GROUPS}/new`)).body).toEqual(reply.body);
    expect(await commitCount(manager().repository)).toBe(commits + 1);
    const commit = await lastCommit(manager().repository);
    expect(commit.files).toEqual(['A desired-state/device-groups/new.yaml']);
    expect(commit.subject).toBe('device group new: create');
    const text = await manager().repository.show('desired-state/device-groups/new.yaml');
    expect(text).toBe('apps:\n  - cron\n  - web\n');
    expect(await manager().repository.git('status', '--porcelain')).toBe('');
  });

  it('POST: an object with apps, an array that may be empty', async () => {
    const reply = await manager().post(`${GROUPS}/empty`, { apps: [] });
    expect(reply.body).toEqual(groupRecord('empty', [], { device_group_id: 1, prune_id: 1 }));
    expect((await manager().get(`${GROUPS}/empty/info`)).body.apps).toEqual([]);
  });

  it('POST .../update: 202 with the device group', async () => {
    await manager().post(`${GROUPS}/full`, { apps: ['cron', 'web'] });
    const { body: before } = await manager().get(`${GROUPS}/full`);
    const reply = await manager().post(`${GROUPS}/full/update`, { apps: ['web'] });
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual({ ...before, apps: ['web'], device_group_id: before.device_group_id + 1 });
    expect((await manager().get(`${GROUPS}/full`)).body).toEqual(reply.body);
    expect((await lastCommit(manager().repository)).subject).toBe('device group full: remove cron');
  });

  it('DELETE: 200 with an empty object; its apps stay', async () => {
    await manager().post(`${GROUPS}/gone`, { apps: ['web'] });
    const { body: web } = await manager().get('/api/v2/apps/web');
    const reply = await manager().delete(`${GROUPS}/gone`);
    expect(reply.status).toBe(200);
    expect(reply.text).toBe('{}');
    expect((await manager().get(GROUPS)).body.device_groups).not.toContain('gone');
    expect((await manager().get('/api/v2/apps/web')).body).toEqual(web);
    expect((await lastCommit(manager().repository)).files).toEqual([
      'D desired-state/device-groups/gone.yaml',
    ]);
    expect(await manager().repository.git('status', '--porcelain')).toBe('');
  });
});

describe('docs/contract.md, 4.3 and 5.4: device groups', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it.each([
    ['GET', ''],
    ['DELETE', ''],
    ['GET', '/info'],
    ['POST', '/prune'],
    ['POST', '/update'],
    ['PUT', '/update'],
    ['PATCH', '/update'],
  ])('Unknown group on any endpoint: 403 device_group_exists: false: %s .../nope%s', async (method, rest) => {
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: { apps: ['web'] } };
    const reply = await expectRefused(manager(), 403, () =>
      manager().request(method, `${GROUPS}/nope${rest}`, body),
    );
    expect(reply.body).toEqual({ device_group_exists: false });
  });

  it('Create of an existing name: 403 device_group_exists: true', async () => {
    const reply = await expectRefused(manager(), 403, () => manager().post(EDGE, { apps: [] }));
    expect(reply.body).toEqual({ device_group_exists: true });
  });

  const bodies = [
    ...NOT_JSON,
    ...NOT_OBJECTS,
    ['an empty object', '{}'],
    ['only ignored fields', '{"prune_id":4}'],
  ] as const;
  it.each(
    bodies.flatMap(([label, body]) => [
      [`${GROUPS}/fresh`, label, body] as const,
      [`${EDGE}/update`, label, body] as const,
    ]),
  )('apps absent, or body absent, malformed or not an object: POST %s with %s', async (path, _, body) => {
    const reply = await expectRefused(manager(), 400, () =>
      sendRaw(manager(), { method: 'POST', path, headers: JSON_TYPE, body }),
    );
    expect(reply.body).toEqual({ missing_parameters: ['apps'] });
  });

  it.each([
    ['POST', `${GROUPS}/fresh`],
    ['POST', `${EDGE}/update`],
    ['PUT', `${EDGE}/update`],
    ['PATCH', `${EDGE}/update`],
  ])('Other fields in a body: anything else is 400 invalid_parameters: %s %s', async (method, path) => {
    const body = {
      apps: ['web'],
      device_group: 'x',
      device_group_id: 9,
      prune_id: 9,
      _id: null,
      group: 1,
      name: 2,
    };
    const reply = await expectRefused(manager(), 400, () => manager().request(method, path, { body }));
    expect(reply.body).toEqual({ invalid_parameters: { group: REASON, name: REASON } });
  });

  it('Other fields in a body: device_group, device_group_id, prune_id, _id are ignored', async () => {
    const { body: record } = await manager().get(EDGE);
    const reply = await expectNothingWritten(manager(), () => manager().post(`${EDGE}/update`, record));
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual(record);
    const created = await manager().post(`${GROUPS}/copy`, record);
    expect(created.body).toEqual(groupRecord('copy', record.apps, { device_group_id: 1, prune_id: 1 }));
    expect(created.body._id).not.toEqual(record._id);
  });

  it.each([
    ['PUT', undefined],
    ['PATCH', undefined],
    ['PUT', '{}'],
    ['PATCH', '{"device_group":"x","device_group_id":1,"prune_id":2,"_id":{}}'],
  ])('PUT/PATCH with no parameters: 400 missing_parameters, one sentence: %s %s', async (method, body) => {
    const path = `${EDGE}/update`;
    const reply = await expectRefused(manager(), 400, () =>
      sendRaw(manager(), { method, path, headers: JSON_TYPE, body }),
    );
    expect(reply.body).toEqual({ missing_parameters: REASON });
  });

  // All other lists are in test/protocol.
  it.each([
    ['POST', `${GROUPS}/fresh`, null],
    ['POST', `${EDGE}/update`, { '0': 'web' }],
    ['PUT', `${EDGE}/update`, ['web', 1]],
    ['POST', `${GROUPS}/fresh`, ['web', 'cron', 'web']],
    ['PUT', `${EDGE}/update`, ['web', 'web']],
  ])('apps not an array of strings, or a name listed twice: %s %s %j', async (method, path, apps) => {
    const reply = await expectRefused(manager(), 400, () =>
      manager().request(method, path, { body: { apps } }),
    );
    expect(reply.body).toEqual({ invalid_parameters: { apps: REASON } });
  });

  it.each([
    ['POST', `${GROUPS}/fresh`],
    ['POST', `${EDGE}/update`],
    ['PUT', `${EDGE}/update`],
    ['PATCH', `${EDGE}/update`],
  ])('apps naming an unknown app: 403 app_exists: false with the names: %s %s', async (method, path) => {
    const body = { apps: ['web', 'nope', '../web', 'cron', '', 'Web'] };
    const reply = await expectRefused(manager(), 403, () => manager().request(method, path, { body }));
    expect(reply.body).toEqual({ app_exists: false, apps: ['nope', '../web', '', 'Web'] });
  });

  it.each(['POST', 'PUT', 'PATCH'])('Update replaces the list: %s', async (method) => {
    const path = `${GROUPS}/list-${method}`;
    const { body: before } = await manager().post(path, { apps: ['web', 'cron'] });
    const reply = await manager().request(method, `${path}/update`, { body: { apps: ['cron'] } });
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual({ ...before, apps: ['cron'], device_group_id: 2 });
  });

  it.each(['POST', 'PUT', 'PATCH'])(
    'Update with the same list: 202, unchanged, no commit: %s',
    async (method) => {
      const { body: before } = await manager().get(EDGE);
      const reply = await expectNothingWritten(manager(), () =>
        manager().request(method, `${EDGE}/update`, { body: { apps: before.apps } }),
      );
      expect(reply.status).toBe(202);
      expect(reply.body).toEqual(before);
    },
  );

  it('Order of apps and apps_list: as written; a new order is a change of the group alone', async () => {
    const { body: created } = await manager().post(`${GROUPS}/order`, { apps: ['web', 'cron'] });
    const { body: info } = await manager().get(`${GROUPS}/order/info`);
    const { body: changed } = await manager().put(`${GROUPS}/order/update`, { apps: ['cron', 'web'] });
    expect(changed).toEqual({ ...created, apps: ['cron', 'web'], device_group_id: 2 });
    const { body: next } = await manager().get(`${GROUPS}/order/info`);
    expect(next).toEqual({
      ...info,
      apps_list: ['cron', 'web'],
      apps: [...info.apps].reverse(),
      device_group_id: 2,
    });
    expect((await lastCommit(manager().repository)).files).toHaveLength(1);
  });

  it("A change of a member app: raises that app's app_id alone, not the group's id", async () => {
    const { body: group } = await manager().get(EDGE);
    const { body: app } = await manager().get('/api/v2/apps/web');
    await manager().put('/api/v2/apps/web/update', { rolling_restart: true });
    expect((await manager().get(EDGE)).body).toEqual(group);
    const { body: info } = await manager().get(`${EDGE}/info`);
    expect(info.apps[0].app_id).toBe(app.app_id + 1);
    expect(info.device_group_id).toBe(group.device_group_id);
  });

  it('an update keeps comments and other lines of the file', async () => {
    const text = '# the edge\napps:\n  - web # first\n  - cron\n# the end\n';
    await manager().repository.commit({ 'desired-state/device-groups/commented.yaml': text });
    await manager().reconcile();
    await manager().put(`${GROUPS}/commented/update`, { apps: ['web'] });
    const path = 'desired-state/device-groups/commented.yaml';
    expect(await changedLines(manager().repository, path)).toEqual(['-  - cron']);
  });

  it.each(INVALID_NAMES)('Names of apps and groups: anything else is 400: %s', async (_, name) => {
    for (const [method, rest] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', ''],
      ['PUT', '/update'],
      ['GET', '/info'],
      ['POST', '/prune'],
    ] as const) {
      const path = `${GROUPS}/${name}${rest}`;
      const body = method === 'POST' || method === 'PUT' ? { body: '{"apps":[]}', headers: JSON_TYPE } : {};
      const reply = await sendRaw(manager(), { method, path, ...body });
      expect(reply.status, `${method} ${rest}`).toBe(400);
    }
  });
});
