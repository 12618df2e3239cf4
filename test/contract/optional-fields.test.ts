import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/store/open/sqlite.ts';
import { flat } from '../support/flat-store.ts';
import { DEFAULTS } from '../support/fleet.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { commitCount, expectNothingWritten } from '../support/manager-state.ts';
import { LIKE_ABSENT, OPTIONAL_SAMPLES } from '../support/optional-fields.ts';
import { suiteManager } from '../support/suite.ts';
import { appRecord, REASON } from './expected.ts';

/** An app with each optional field. */
const ALL = Object.fromEntries(Object.entries(OPTIONAL_SAMPLES).map(([field, [value]]) => [field, value]));
const NULLS = Object.fromEntries(Object.keys(OPTIONAL_SAMPLES).map((field) => [field, null]));
const IMAGE = { container_image: 'web:1' };

describe('docs/contract.md, 2.1: optional fields', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it('are created, read, polled and written to the file as they were sent', async () => {
    const created = await manager().post('/api/v2/apps/all', { ...IMAGE, ...ALL });
    expect(created.body).toEqual(appRecord('all', { ...IMAGE, ...ALL }));
    expect((await manager().get('/api/v2/apps/all')).body).toEqual(created.body);
    await manager().post('/api/v2/device_groups/some', { apps: ['all'] });
    const { body } = await manager().get('/api/v2/device_groups/some/info');
    expect(body.apps).toEqual([created.body]);
    const again = await manager().post('/api/v2/apps/all/update', created.body);
    expect(again.body).toEqual(created.body);
  });

  it.each(['PUT', 'PATCH'])('are removed by null: %s', async (method) => {
    const name = `null-${method}`;
    await manager().post(`/api/v2/apps/${name}`, { ...IMAGE, ...ALL });
    const { status, body } = await manager().request(method, `/api/v2/apps/${name}/update`, { body: NULLS });
    expect([status, body]).toEqual([202, appRecord(name, IMAGE)]);
    expect(await manager().repository.show(`desired-state/apps/${name}.yaml`)).toBe(
      'container_image: web:1\n',
    );
    const before = await commitCount(manager().repository);
    const same = await manager().request(method, `/api/v2/apps/${name}/update`, { body: NULLS });
    expect([same.status, same.body]).toEqual([202, body]);
    expect(await commitCount(manager().repository)).toBe(before);
  });

  it('can be null in a create and a full update', async () => {
    const created = await manager().post('/api/v2/apps/nulls', { ...IMAGE, ...NULLS });
    expect(created.body).toEqual(appRecord('nulls', IMAGE));
    await manager().post('/api/v2/apps/nulls/update', { ...IMAGE, ...ALL });
    const updated = await manager().post('/api/v2/apps/nulls/update', { ...IMAGE, ...NULLS });
    expect(updated.body).toEqual(appRecord('nulls', IMAGE));
  });

  it.each(LIKE_ABSENT)(
    'are absent, and change no id, if they say what is so anyway: %s %j',
    async (field, value) => {
      const { body: before } = await manager().get('/api/v2/apps/web');
      const { status, body } = await manager().put('/api/v2/apps/web/update', { [field]: value });
      expect([status, body]).toEqual([202, before]);
    },
  );

  it('are refused all at once with what is right, and nothing is written', async () => {
    await expectNothingWritten(manager(), async () => {
      const bad = {
        memory: 512,
        restart: 'often',
        healthcheck: { interval: 5 },
        labels: { orchestrator: 'x' },
      };
      const { status, body } = await manager().put('/api/v2/apps/web/update', bad);
      expect(status).toBe(400);
      expect(body.invalid_parameters).toEqual({
        memory: REASON,
        restart: REASON,
        healthcheck: REASON,
        labels: REASON,
      });
    });
  });

  it('cannot be null in a file', async () => {
    await manager().repository.commit({ 'desired-state/apps/bad.yaml': 'container_image: a\nmemory:\n' });
    const { problems } = (await manager().reconcile()).body;
    expect(problems).toMatchObject([{ file: 'apps/bad.yaml', line: 2, code: 'field-invalid' }]);
  });
});

describe('a manager whose store is of a version without optional fields', () => {
  it('raises no id, and takes a file that was invalid for that version', async () => {
    const first = await startManager({
      files: { ...SMALL_FLEET, 'apps/new.yaml': 'container_image: a\nmemry: 64m\n' },
    });
    const before = (await first.get('/api/v2/device_groups/edge/info')).body;
    await first.stop();
    const path = join(first.dataFolder, 'store.sqlite');
    const store = flat(await openSqliteStore({ path, defaults: DEFAULTS, random: randomBytes }));
    const { sequence } = await store.state();
    const revision = await first.repository.commit({
      'desired-state/apps/new.yaml': 'container_image: a\nmemory: 64m\n',
    });
    // As that version left it: the file has a problem, so that the app does not exist.
    const rules = `4 ${JSON.stringify(DEFAULTS)}`;
    await store.apply({
      revision,
      sequence: await store.claimHead(sequence, revision, 1),
      at: 1,
      rules,
      steps: [],
      origins: [],
    });
    await store.close();
    const manager = await first.restart();
    expect((await manager.get('/api/v2/device_groups/edge/info')).body).toEqual(before);
    expect((await manager.get('/api/v2/apps/new')).body).toMatchObject({ memory: '64m' });
  });
});
