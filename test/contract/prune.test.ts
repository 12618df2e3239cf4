import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { expectNothingWritten, managerState, recordsOf } from '../support/manager-state.ts';
import { suiteManager } from '../support/suite.ts';

const FILES = {
  ...SMALL_FLEET,
  'device-groups/lab.yaml': 'apps: []\n',
  'device-groups/toString.yaml': 'apps: []\n',
};
const LAB = '/api/v2/device_groups/lab';

describe('docs/contract.md, 4.4: prune', () => {
  const manager = suiteManager({ files: FILES });

  it('POST .../{device_group_name}/prune: 202 with the device group record carrying a prune_id', async () => {
    const { body: before } = await manager().get(LAB);
    const reply = await manager().post(`${LAB}/prune`);
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual({ ...before, prune_id: before.prune_id + 1 });
    expect((await manager().get(LAB)).body).toEqual(reply.body);
  });

  it('POST /api/v2/prune: 202 with prune_ids, an object mapping string to integer', async () => {
    const { groups } = await recordsOf(manager());
    const reply = await manager().post('/api/v2/prune');
    expect(reply.status).toBe(202);
    const expected = Object.entries(groups).map(([name, record]) => [
      name,
      (record as { prune_id: number }).prune_id + 1,
    ]);
    expect(reply.body).toEqual({ prune_ids: Object.fromEntries(expected) });
    expect(Object.keys(reply.body.prune_ids).sort()).toEqual(['edge', 'lab', 'toString']);
  });
});

describe('a prune of a group with If-Match', () => {
  const manager = suiteManager({ files: FILES });
  const prune = (tag: string) => manager().post(`${LAB}/prune`, undefined, { headers: { 'if-match': tag } });

  it('is refused with 412, and writes nothing, if the group has another id', async () => {
    const { body } = await manager().get(LAB);
    for (const tag of [`"${body.device_group_id + 1}"`, `"${body.device_group_id - 1}"`, '"x"', '']) {
      const reply = await expectNothingWritten(manager(), () => prune(tag));
      expect([reply.status, typeof reply.body.error], tag).toEqual([412, 'string']);
    }
  });

  it('is made for the ETag of a reply about the group, but only once', async () => {
    const read = await manager().get(LAB);
    const { device_group_id, prune_id } = read.body;
    expect(read.headers.get('etag')).toBe(`"${device_group_id}-${prune_id}"`);
    const pruned = await prune(`"${device_group_id}-${prune_id}"`);
    expect([pruned.status, pruned.body.prune_id]).toEqual([202, prune_id + 1]);
    expect(pruned.headers.get('etag')).toBe(`"${device_group_id}-${prune_id + 1}"`);
    const again = await expectNothingWritten(manager(), () => prune(`"${device_group_id}-${prune_id}"`));
    expect(again.status, 'the same request again').toBe(412);
  });

  it('is made for exactly one of many concurrent requests with the same ETag', async () => {
    const tag = (await manager().get(LAB)).headers.get('etag') ?? '';
    const replies = await Promise.all(Array.from({ length: 8 }, () => prune(tag)));
    expect(replies.map(({ status }) => status).sort()).toEqual([202, ...Array(7).fill(412)]);
  });

  it('is made for the device_group_id alone, however often the group was pruned', async () => {
    const { device_group_id, prune_id } = (await manager().get(LAB)).body;
    for (const times of [1, 2]) {
      const pruned = await prune(`"x", "${device_group_id}"`);
      expect([pruned.status, pruned.body.prune_id]).toEqual([202, prune_id + times]);
    }
  });

  it('is refused with 403 if the group is unknown: existence is checked before If-Match', async () => {
    const headers = { 'if-match': '"1"' };
    const reply = await manager().post('/api/v2/device_groups/unknown/prune', undefined, { headers });
    expect([reply.status, reply.body]).toEqual([403, { device_group_exists: false }]);
  });
});

describe('docs/contract.md, 4.4: what a prune raises', () => {
  const manager = suiteManager({ files: FILES });

  it('Restart, prune: no commit; prune_id: +1 per prune of the group or of all, and nothing else changes', async () => {
    const before = await managerState(manager());
    for (const path of [`${LAB}/prune`, '/api/v2/prune', `${LAB}/prune`]) await manager().post(path);
    const after = await managerState(manager());
    const raised = Object.entries(before.groups).map(([name, record]) => {
      const group = record as { prune_id: number };
      return [name, { ...group, prune_id: group.prune_id + (name === 'lab' ? 3 : 1) }];
    });
    expect(after).toEqual({ ...before, groups: Object.fromEntries(raised) });
  });

  it('prune_id: +1 for each of many concurrent prunes', async () => {
    const { body: before } = await manager().get(LAB);
    const replies = await Promise.all([1, 2, 3, 4].map(() => manager().post(`${LAB}/prune`)));
    expect(replies.map(({ body }) => body.prune_id - before.prune_id).sort()).toEqual([1, 2, 3, 4]);
  });

  it('Keys of prune_ids: device group names; no groups gives {}', async () => {
    const empty = await startManager({ files: { 'apps/web.yaml': 'container_image: a\n' } });
    const reply = await empty.post('/api/v2/prune');
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual({ prune_ids: {} });
  });

  it('prune_id: kept when the manager restarts and when the group changes', async () => {
    const own = await startManager({ files: FILES });
    const { body: pruned } = await own.post(`${LAB}/prune`);
    const next = await own.restart();
    expect((await next.get(LAB)).body).toEqual(pruned);
    const { body: changed } = await next.put(`${LAB}/update`, { apps: ['web'] });
    expect(changed.prune_id).toBe(pruned.prune_id);
    expect((await next.post('/api/v2/prune')).body.prune_ids.lab).toBe(pruned.prune_id + 1);
  });
});
