import { describe, expect, it } from 'vitest';
import { inDesiredState } from '../support/folder.ts';
import { startManager, type TestManager } from '../support/manager.ts';
import { commitCount, expectNothingWritten, expectRefused, lastCommit } from '../support/manager-state.ts';
import { suiteManager } from '../support/suite.ts';

const APPS = '/api/v2/apps';
const GROUPS = '/api/v2/device_groups';
const FLEET = {
  'apps/web.yaml': 'container_image: web:1\n',
  'apps/bad.yaml': 'container_image: bad:1\n',
  'apps/odd.yaml': 'container_image: odd:1\n',
  'device-groups/edge.yaml': 'apps: [web, bad]\n',
};

type Files = Readonly<Record<string, string | null>>;

const OPTIONS = { files: FLEET, settings: { STRICT: 'true' } };

/** A manager with STRICT that has applied the fleet, and refuses a head with these files. */
async function managerThatRefuses(files: Files): Promise<TestManager> {
  const manager = await startManager(OPTIONS);
  await commitRefused(manager, files);
  return manager;
}

async function commitRefused(manager: TestManager, files: Files): Promise<void> {
  await manager.repository.commit(inDesiredState(files));
  const { body } = await manager.reconcile();
  expect(body.state).toBe('refused');
}

const head = ({ repository }: TestManager): Promise<string> => repository.git('rev-parse', 'HEAD');

const filesOf = (problems: { file: string }[]): string[] => problems.map(({ file }) => file);

describe('a write at a head that STRICT refuses for the bad file of an app', () => {
  const manager = suiteManager(OPTIONS, (one) =>
    commitRefused(one, { 'apps/bad.yaml': 'container_image: [\n' }),
  );

  it.each<[string, string, string, unknown]>([
    ['a partial update of the bad app', 'PUT', `${APPS}/bad/update`, { privileged: true }],
    ['a partial update of another app', 'PUT', `${APPS}/web/update`, { privileged: true }],
    ['a full update of another app', 'POST', `${APPS}/web/update`, { container_image: 'web:2' }],
    ['an update that changes nothing', 'PUT', `${APPS}/web/update`, { running: true }],
    ['a full update that changes nothing', 'POST', `${APPS}/web/update`, { container_image: 'web:1' }],
    ['a delete of another app', 'DELETE', `${APPS}/odd`, undefined],
    ['a create', 'POST', `${APPS}/new`, { container_image: 'new:1' }],
    ['an update of a group', 'POST', `${GROUPS}/edge/update`, { apps: ['web'] }],
  ])(
    'is refused with 409 and the problem of the file, and writes nothing: %s',
    async (_, method, path, body) => {
      const reply = await expectRefused(manager(), 409, () => manager().request(method, path, { body }));
      expect(reply.body.error).toContain('apps/bad.yaml:');
      expect(new Set(filesOf(reply.body.problems))).toEqual(new Set(['apps/bad.yaml']));
    },
  );
});

describe('a write at a head that STRICT refuses for a group that lists an unknown app', () => {
  const group = { 'device-groups/edge.yaml': 'apps: [web, bad, unknown]\n' };
  const manager = suiteManager(OPTIONS, (one) => commitRefused(one, group));

  it.each<[string, string, string, unknown]>([
    ['a partial update', 'PUT', `${APPS}/web/update`, { privileged: true }],
    ['a full update', 'POST', `${APPS}/web/update`, { container_image: 'web:2' }],
    ['a delete', 'DELETE', `${APPS}/odd`, undefined],
    ['a create', 'POST', `${APPS}/new`, { container_image: 'new:1' }],
    ['a create of a group', 'POST', `${GROUPS}/new`, { apps: ['web'] }],
  ])(
    'is refused with 409 and the problem of the group, and writes nothing: %s',
    async (_, method, path, body) => {
      const reply = await expectNothingWritten(manager(), () => manager().request(method, path, { body }));
      expect([reply.status, filesOf(reply.body.problems)]).toEqual([409, ['device-groups/edge.yaml']]);
    },
  );
});

describe('a write at a head that STRICT refuses', () => {
  it.each<[string, Files, string, string, unknown, number]>([
    [
      'full update of an app',
      { 'apps/bad.yaml': '[' },
      'POST',
      `${APPS}/bad/update`,
      { container_image: 'z' },
      202,
    ],
    [
      'delete of an app that a group lists',
      { 'apps/bad.yaml': '[' },
      'DELETE',
      `${APPS}/bad`,
      undefined,
      200,
    ],
    [
      'delete of an app that was never applied',
      { 'apps/x.yaml': '[' },
      'DELETE',
      `${APPS}/x`,
      undefined,
      200,
    ],
    [
      'full update of a group',
      { 'device-groups/edge.yaml': 'apps: [unknown]\n' },
      'POST',
      `${GROUPS}/edge/update`,
      { apps: ['web'] },
      202,
    ],
    [
      'delete of a group',
      { 'device-groups/edge.yaml': 'apps: [unknown]\n' },
      'DELETE',
      `${GROUPS}/edge`,
      undefined,
      200,
    ],
    [
      'full update of an app whose file is gone',
      { 'apps/bad.yaml': null },
      'POST',
      `${APPS}/bad/update`,
      { container_image: 'z' },
      202,
    ],
    [
      'create of the unknown app that a group lists',
      { 'device-groups/edge.yaml': 'apps: [web, missing]\n' },
      'POST',
      `${APPS}/missing`,
      { container_image: 'z' },
      200,
    ],
  ])(
    'is committed and applied if it removes the only problem: %s',
    async (_, files, method, path, body, status) => {
      const manager = await managerThatRefuses(files);
      const reply = await manager.request(method, path, { body });
      expect([reply.status, reply.body.error]).toEqual([status, undefined]);
      const { body: after } = await manager.get('/api/v2/reconcile');
      expect(after).toMatchObject({ state: 'applied', revision_applied: await head(manager), problems: [] });
    },
  );

  it('is committed but not applied while another file is bad: 503 until a write removes the last problem', async () => {
    const manager = await managerThatRefuses({ 'apps/bad.yaml': '[', 'apps/odd.yaml': '[' });
    const first = await manager.post(`${APPS}/bad/update`, { container_image: 'bad:2' });
    expect(first.status).toBe(503);
    expect(first.body).toMatchObject({ revision: await head(manager), applied: false });
    expect(new Set(filesOf(first.body.problems))).toEqual(new Set(['apps/odd.yaml']));
    expect((await lastCommit(manager.repository)).files).toEqual(['M desired-state/apps/bad.yaml']);
    expect((await manager.get(`${APPS}/bad`)).body.container_image).toBe('bad:1');

    const again = await expectNothingWritten(manager, () =>
      manager.post(`${APPS}/bad/update`, { container_image: 'bad:2' }),
    );
    expect([again.status, filesOf(again.body.problems)[0]]).toEqual([409, 'apps/odd.yaml']);

    expect((await manager.delete(`${APPS}/odd`)).status).toBe(200);
    expect((await manager.get(`${APPS}/bad`)).body.container_image).toBe('bad:2');
  });

  it('is committed together with a concurrent one that removes the other problem, and both are applied', async () => {
    const manager = await managerThatRefuses({ 'apps/bad.yaml': '[', 'apps/odd.yaml': '[' });
    const commits = await commitCount(manager.repository);
    const replies = await Promise.all(
      ['bad', 'odd'].map((name) => manager.post(`${APPS}/${name}/update`, { container_image: `${name}:2` })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([202, 503]);
    expect(await commitCount(manager.repository)).toBe(commits + 2);
    const images = ['bad', 'odd'].map(
      async (name) => (await manager.get(`${APPS}/${name}`)).body.container_image,
    );
    expect(await Promise.all(images)).toEqual(['bad:2', 'odd:2']);
  });

  it.each<[string, string, string, Record<string, string>, number, unknown]>([
    ['an unknown app', 'DELETE', `${APPS}/unknown`, {}, 403, { app_exists: false }],
    ['another id in If-Match', 'DELETE', `${APPS}/bad`, { 'if-match': '"99"' }, 412, expect.anything()],
  ])(
    'is answered as on any other head if the request itself is wrong: %s',
    async (_, method, path, headers, status, body) => {
      const manager = await managerThatRefuses({ 'apps/bad.yaml': '[' });
      const reply = await expectNothingWritten(manager, () => manager.request(method, path, { headers }));
      expect([reply.status, reply.body]).toEqual([status, body]);
    },
  );

  it('is refused with 409 if the head has none of the objects any more', async () => {
    const manager = await managerThatRefuses(
      Object.fromEntries(Object.keys(FLEET).map((path) => [path, null])),
    );
    const reply = await expectNothingWritten(manager, () =>
      manager.post(`${APPS}/web/update`, { container_image: 'web:2' }),
    );
    expect([reply.status, reply.body.error]).toEqual([409, expect.stringContaining('missing or empty')]);
  });
});

describe('at a first head that STRICT refuses', () => {
  const GOOD = { 'apps/web.yaml': 'container_image: web:1\n', 'device-groups/lab.yaml': 'apps: [web]\n' };
  const REFUSED = {
    files: {
      ...GOOD,
      'apps/bad.yaml': '[',
      'apps/odd.yaml': 'container_image: [\n',
      'device-groups/edge.yaml': 'apps: [web, bad]\n',
    },
    settings: { STRICT: 'true' },
  };
  const BAD = new Set(['apps/bad.yaml', 'apps/odd.yaml', 'device-groups/edge.yaml']);
  const refusing = suiteManager(REFUSED);

  it('writes fix the files one by one, and nothing is served before the last one', async () => {
    const manager = await startManager(REFUSED);
    for (const [method, path, body, stillBad] of [
      ['POST', `${APPS}/bad/update`, { container_image: 'bad:1' }, ['apps/odd.yaml']],
      ['DELETE', `${APPS}/odd`, undefined, []],
    ] as const) {
      expect((await manager.get(`${APPS}/web`)).status).toBe(503);
      expect((await manager.get(`${GROUPS}/lab/info`)).text).not.toContain('{');
      const reply = await manager.request(method, path, { body });
      expect(reply.status).toBe(stillBad.length === 0 ? 200 : 503);
      if (stillBad.length === 0) continue;
      expect(reply.body).toMatchObject({ revision: await head(manager), applied: false });
      expect(new Set(filesOf(reply.body.problems))).toEqual(new Set(stillBad));
    }
    expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({ state: 'applied', problems: [] });
    expect((await manager.get(APPS)).body.apps).toEqual(['bad', 'web']);
    expect((await manager.get(`${GROUPS}/edge/info`)).body.apps_list).toEqual(['web', 'bad']);
  });

  it.each<[string, string, string, unknown]>([
    ['a create of an app that has a valid file', 'POST', `${APPS}/web`, { container_image: 'z' }],
    ['a create of a device group that has a valid file', 'POST', `${GROUPS}/lab`, { apps: [] }],
    ['a create of an app', 'POST', `${APPS}/new`, { container_image: 'z' }],
    ['a stop', 'POST', `${APPS}/web/stop`, undefined],
    ['a restart', 'POST', `${APPS}/web/restart`, undefined],
  ])(
    'a write that fixes nothing is refused with 409 and every bad file: %s',
    async (_, method, path, body) => {
      const before = await head(refusing());
      const reply = await refusing().request(method, path, { body });
      expect(reply.status).toBe(409);
      expect(new Set(filesOf(reply.body.problems ?? []))).toEqual(BAD);
      expect(await head(refusing())).toBe(before);
    },
  );
});
