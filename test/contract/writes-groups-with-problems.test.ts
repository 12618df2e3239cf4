import { describe, expect, it } from 'vitest';
import { inDesiredState } from '../support/folder.ts';
import { startManager, type TestManager } from '../support/manager.ts';
import { expectNothingWritten } from '../support/manager-state.ts';

const EDGE = '/api/v2/device_groups/edge';
const FLEET = {
  'apps/web.yaml': 'container_image: web:1\n',
  'apps/db.yaml': 'container_image: db:1\n',
  'device-groups/edge.yaml': 'apps: [db, web]\n',
};

/** A manager that has applied the fleet, and then reads a commit of these files. */
async function managerAfter(files: Readonly<Record<string, string | null>>): Promise<TestManager> {
  const manager = await startManager({ files: FLEET });
  await manager.repository.commit(inDesiredState(files));
  await manager.reconcile();
  return manager;
}

describe('a group write that lists an app with a problem', () => {
  it.each([
    ['its file is deleted while the group lists it', { 'apps/db.yaml': null }, 'db', 'app-unknown'],
    ['its file was never valid', { 'apps/odd.yaml': '[' }, 'odd', 'app-waiting'],
  ] as const)('is refused with 409 and the problem: %s', async (_, files, name, code) => {
    const manager = await managerAfter(files);
    for (const [method, apps] of [
      ['PUT', ['web', name]],
      ['POST', [name]],
    ] as const) {
      const reply = await expectNothingWritten(manager, () =>
        manager.request(method, `${EDGE}/update`, { body: { apps } }),
      );
      expect(reply.status, method).toBe(409);
      expect(reply.body.problems).toMatchObject([{ file: 'device-groups/edge.yaml', code }]);
      expect(reply.body.error).toContain(`"${name}"`);
    }
    const created = await manager.post('/api/v2/device_groups/other', { apps: [name] });
    expect([created.status, created.body.problems?.[0]?.code]).toEqual([409, code]);
  });

  it('is 202, and changes nothing, if the list is the applied one', async () => {
    const manager = await managerAfter({ 'apps/db.yaml': null });
    const { body: before } = await manager.get(EDGE);
    for (const method of ['PUT', 'POST'] as const) {
      const reply = await expectNothingWritten(manager, () =>
        manager.request(method, `${EDGE}/update`, { body: { apps: ['db', 'web'] } }),
      );
      expect([reply.status, reply.body]).toEqual([202, before]);
    }
  });

  it("is 409, not a reply with the applied list, if the list is that of the group's invalid file", async () => {
    const manager = await managerAfter({
      'apps/odd.yaml': '[',
      'device-groups/edge.yaml': 'apps: [db, web, odd]\n',
    });
    const reply = await expectNothingWritten(manager, () =>
      manager.put(`${EDGE}/update`, { apps: ['db', 'web', 'odd'] }),
    );
    expect([reply.status, reply.body.problems?.[0]?.code]).toEqual([409, 'app-waiting']);
  });

  it('is refused with 403 and only the unknown names if it also lists an unknown app', async () => {
    const manager = await managerAfter({ 'apps/db.yaml': null });
    const reply = await manager.put(`${EDGE}/update`, { apps: ['db', 'unknown'] });
    expect([reply.status, reply.body]).toEqual([403, { app_exists: false, apps: ['unknown'] }]);
  });
});

it.each([
  ['names an unknown app', 'apps: [nonex]\n', 'app-unknown'],
  ['is not YAML', 'apps: [\n', 'yaml-syntax'],
])('a create of a group whose file at head %s is refused with 409 and the problem', async (_, text, code) => {
  const manager = await managerAfter({ 'device-groups/gn2.yaml': text });
  const reply = await expectNothingWritten(manager, () =>
    manager.post('/api/v2/device_groups/gn2', { apps: ['web'] }),
  );
  expect([reply.status, reply.body.problems?.[0]]).toMatchObject([
    409,
    { file: 'device-groups/gn2.yaml', code },
  ]);
});
