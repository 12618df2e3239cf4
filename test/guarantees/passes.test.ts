import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { managerState } from '../support/manager-state.ts';

const WEB = 'desired-state/apps/web.yaml';
const BAD = 'desired-state/apps/bad.yaml';
const EDGE = 'desired-state/device-groups/edge.yaml';

/** Makes passes fail. Resolves to a function that ends the fault. */
type Fault = (manager: TestManager) => Promise<() => Promise<void>>;

/** Keeps the store from being written, and commits a change that a pass would apply. */
const lockStore: Fault = async ({ dataFolder, repository }) => {
  const other = new DatabaseSync(join(dataFolder, 'store.sqlite'), { timeout: 5000 });
  other.exec('BEGIN IMMEDIATE');
  await repository.commit({ [WEB]: 'container_image: nginx:1.28\n' });
  return async () => other.close();
};

const moveRepositoryAway: Fault = async ({ repository }) => {
  const away = join(await temporaryFolder(), 'git');
  await rename(join(repository.folder, '.git'), away);
  return () => rename(away, join(repository.folder, '.git'));
};

describe('a pass that fails', () => {
  it.each([
    ['because the store cannot be written', lockStore],
    ['because the repository is gone', moveRepositoryAway],
  ])(
    '%s: advances nothing, keeps every problem, and reports since when it fails and when the next try is',
    async (_name, fail) => {
      const manager = await startManager({ files: SMALL_FLEET });
      await manager.repository.commit({ [BAD]: 'container_image: 2\n', [EDGE]: 'apps: [web, missing]\n' });
      const applied = (await manager.reconcile()).body;
      const codes = applied.problems.map(({ code }: { code: string }) => code);
      expect(codes).toEqual(['field-invalid', 'app-unknown']);
      const endFault = await fail(manager);
      const [first, second] = [(await manager.reconcile()).body, (await manager.reconcile()).body];
      for (const status of [first, second]) {
        expect(status.state).toBe('failing');
        expect(status.revision_applied).toBe(applied.revision_applied);
        expect(status.applied_at).toBe(applied.applied_at);
        expect(status.problems).toEqual(applied.problems);
        expect(status.error.since).toBe(first.error.since);
        expect(status.error.retry_at).not.toBeNull();
      }
      expect(second.error.failures).toBeGreaterThan(first.error.failures);
      await endFault();
      const recovered = (await manager.reconcile()).body;
      expect(recovered).toMatchObject({ error: null, problems: applied.problems });
      expect(recovered.revision_applied).toBe(await manager.repository.git('rev-parse', 'HEAD'));
    },
  );
});

describe('a small change in a large fleet', () => {
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [`apps/app-${i}.yaml`, `container_image: i:${i}\n`]),
  );
  const groups = Object.fromEntries(
    Array.from({ length: 10 }, (_, i) => [`device-groups/g-${i}.yaml`, `apps: [app-${i}, app-${i + 10}]\n`]),
  );

  it('changes one id, one reply and two rows of the store for a commit of one file, and logs why', async () => {
    const manager = await startManager({ files: { ...many, ...groups } });
    const infos = async (): Promise<string[]> =>
      Promise.all(
        Object.keys(groups).map(
          async (_path, i) => (await manager.get(`/api/v2/device_groups/g-${i}/info`)).text,
        ),
      );
    const rows = (): unknown[] => {
      const db = new DatabaseSync(join(manager.dataFolder, 'store.sqlite'), { readOnly: true });
      const tables = ['objects', 'counters'];
      const all = tables.flatMap((table) => db.prepare(`SELECT * FROM ${table}`).all());
      db.close();
      return all.map((row) => JSON.stringify(row));
    };
    const [before, replies, stored, lines] = [
      await managerState(manager),
      await infos(),
      rows(),
      manager.log.length,
    ];
    const revision = await manager.repository.commit({
      'desired-state/apps/app-3.yaml': 'container_image: j:3\n',
    });
    await manager.reconcile();
    const after = await managerState(manager);
    const app = before.apps['app-3'] as { app_id: number };
    expect(after.apps).toEqual({
      ...before.apps,
      'app-3': { ...app, container_image: 'j:3', app_id: app.app_id + 1 },
    });
    expect(after.groups).toEqual(before.groups);
    // The rows of the app and of its counter.
    expect(rows().filter((row) => !stored.includes(row))).toHaveLength(2);
    const changed = (await infos())
      .map((text, i) => (text === replies[i] ? null : i))
      .filter((i) => i !== null);
    expect(changed).toEqual([3]);
    const logged = manager.log.slice(lines).filter((line) => 'kind' in line && 'name' in line);
    expect(logged).toEqual([
      expect.objectContaining({
        kind: 'app',
        name: 'app-3',
        id: app.app_id + 1,
        file: 'apps/app-3.yaml',
        revision,
        msg: expect.stringContaining('container_image'),
      }),
    ]);
  });

  it('changes no id and no record if it is an upgrade that adds fields with defaults', async () => {
    const manager = await startManager({ files: { ...many, ...groups } });
    const before = await managerState(manager);
    await manager.stop();
    const db = new DatabaseSync(join(manager.dataFolder, 'store.sqlite'));
    db.exec(
      `UPDATE objects SET content = json_remove(content, '$.rolling_restart', '$.devices') WHERE kind = 'app'`,
    );
    db.exec(`UPDATE state SET rules = 'an older version'`);
    db.close();
    const upgraded = await manager.restart();
    await upgraded.reconcile();
    expect(await managerState(upgraded)).toEqual(before);
    expect(upgraded.log.filter((line) => 'kind' in line && 'name' in line)).toEqual([]);
  });
});
