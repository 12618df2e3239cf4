import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../src/store/open/sqlite.ts';
import { flat } from '../support/flat-store.ts';
import { appOf, DEFAULTS } from '../support/fleet.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';

/** Values that this version refuses in files. */
const OLD_VALUES = { container_image: 'NGINX:latest', volumes: ['./rel:/y'] };
const OLD_FILE = 'container_image: NGINX:latest\nvolumes: ["./rel:/y"]\n';

/** Puts into the stopped manager's repository and store what a version without these rules would have left there. */
async function leaveOldValues({ repository, dataFolder }: TestManager): Promise<void> {
  const revision = await repository.commit({ 'desired-state/apps/web.yaml': OLD_FILE });
  const blob = (await repository.git('rev-parse', `${revision}:desired-state/apps/web.yaml`)).trim();
  const path = join(dataFolder, 'store.sqlite');
  const store = flat(await openSqliteStore({ path, defaults: DEFAULTS, random: randomBytes }));
  const { sequence } = await store.state();
  const before = appOf({ container_image: 'nginx:1.26', starting_ports: [80] });
  await store.apply({
    revision,
    sequence: await store.claimHead(sequence, revision, 1),
    at: 1,
    rules: `2 ${JSON.stringify(DEFAULTS)}`,
    steps: [
      { kind: 'app', name: 'web', before, after: appOf(OLD_VALUES), origin: { path: 'apps/web.yaml', blob } },
    ],
    origins: [],
  });
  await store.close();
}

describe('a manager whose store has an app that an older version accepted and this one refuses', () => {
  it('serves the app as it was, with the same id, and reports the file', async () => {
    const first = await startManager({ files: SMALL_FLEET });
    const { app_id: id } = (await first.get('/api/v2/apps/web')).body;
    const group = (await first.get('/api/v2/device_groups/edge/info')).body;
    await first.stop();
    await leaveOldValues(first);
    const manager = await first.restart();

    const app = await manager.get('/api/v2/apps/web');
    expect(app.status).toBe(200);
    expect(app.body).toMatchObject({ ...OLD_VALUES, app_id: id + 1 });
    const info = await manager.get('/api/v2/device_groups/edge/info');
    expect(info.body).toMatchObject({
      device_group_id: group.device_group_id,
      apps: [{ app_name: 'web', ...OLD_VALUES, app_id: id + 1 }, group.apps[1]],
    });
    const { problems } = (await manager.reconcile()).body;
    expect(problems).toMatchObject([
      { file: 'apps/web.yaml', line: 1, code: 'field-invalid', severity: 'error' },
      { file: 'apps/web.yaml', line: 2, code: 'field-invalid', severity: 'error' },
    ]);

    // Everything else goes on: restarts, changes of other objects, and the fix of the file.
    const restart = await manager.post('/api/v2/apps/web/restart');
    expect([restart.status, restart.body.app_id]).toEqual([202, id + 2]);
    expect((await manager.put('/api/v2/apps/cron/update', { running: true })).status).toBe(202);
    const fixed = await manager.post('/api/v2/apps/web/update', { container_image: 'nginx:1.28' });
    expect([fixed.status, fixed.body.app_id]).toEqual([202, id + 3]);
    expect((await manager.reconcile()).body.problems).toEqual([]);
  });
});
