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

async function managerAt(files: Readonly<Record<string, string | null>>): Promise<TestManager> {
  const manager = await startManager({ files: FLEET });
  await manager.repository.commit(inDesiredState(files));
  await manager.reconcile();
  return manager;
}

/** What the repository holds that stands in the way of a list of apps. */
const WAYS = [
  ['an app whose file is gone while the group lists it', { 'apps/db.yaml': null }, 'db', 'app-unknown'],
  ['an app that was never valid', { 'apps/odd.yaml': '[' }, 'odd', 'app-waiting'],
] as const;

describe('a list of apps that names one that exists, and cannot be listed', () => {
  it.each(WAYS)('%s: 409 with the problem', async (_, files, name, code) => {
    const manager = await managerAt(files);
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

  it('the same list: 202, unchanged', async () => {
    const manager = await managerAt({ 'apps/db.yaml': null });
    const { body: before } = await manager.get(EDGE);
    for (const method of ['PUT', 'POST'] as const) {
      const reply = await expectNothingWritten(manager, () =>
        manager.request(method, `${EDGE}/update`, { body: { apps: ['db', 'web'] } }),
      );
      expect([reply.status, reply.body]).toEqual([202, before]);
    }
  });

  it('the list of a file that is not applied: 409, not a reply with the old list', async () => {
    const manager = await managerAt({
      'apps/odd.yaml': '[',
      'device-groups/edge.yaml': 'apps: [db, web, odd]\n',
    });
    const reply = await expectNothingWritten(manager, () =>
      manager.put(`${EDGE}/update`, { apps: ['db', 'web', 'odd'] }),
    );
    expect([reply.status, reply.body.problems?.[0]?.code]).toEqual([409, 'app-waiting']);
  });

  it('an app that nobody knows: 403 with its name alone', async () => {
    const manager = await managerAt({ 'apps/db.yaml': null });
    const reply = await manager.put(`${EDGE}/update`, { apps: ['db', 'nobody'] });
    expect([reply.status, reply.body]).toEqual([403, { app_exists: false, apps: ['nobody'] }]);
  });
});

it.each([
  ['names an unknown app', 'apps: [nonex]\n', 'app-unknown'],
  ['is no YAML', 'apps: [\n', 'yaml-syntax'],
])('a group whose file at head %s cannot be created: 409 with the problem', async (_, text, code) => {
  const manager = await managerAt({ 'device-groups/gn2.yaml': text });
  const reply = await expectNothingWritten(manager, () =>
    manager.post('/api/v2/device_groups/gn2', { apps: ['web'] }),
  );
  expect([reply.status, reply.body.problems?.[0]]).toMatchObject([
    409,
    { file: 'device-groups/gn2.yaml', code },
  ]);
});
