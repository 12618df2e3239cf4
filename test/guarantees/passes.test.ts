import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { managerState } from '../support/manager-state.ts';

const WEB = 'desired-state/apps/web.yaml';
const BAD = 'desired-state/apps/bad.yaml';

/** Two ways in which passes fail; each returns how to mend it. */
const FAULTS: readonly (readonly [string, (manager: TestManager) => Promise<() => Promise<void>>])[] = [
  [
    'the store cannot be written',
    async ({ dataFolder }) => {
      const other = new DatabaseSync(join(dataFolder, 'store.sqlite'), { timeout: 5000 });
      other.exec('BEGIN IMMEDIATE');
      return async () => other.close();
    },
  ],
  [
    'the repository is gone',
    async ({ repository }) => {
      const away = join(await temporaryFolder(), 'git');
      await rename(join(repository.folder, '.git'), away);
      return () => rename(away, join(repository.folder, '.git'));
    },
  ],
];

describe('an error that counts as "nothing to do"', () => {
  it.each(FAULTS)(
    'cannot be: %s: nothing advances, no problem is cleared, and the failure has an age',
    async (_n, fail) => {
      const manager = await startManager({ files: SMALL_FLEET });
      await manager.repository.commit({ [BAD]: 'container_image: 1\n' });
      const before = (await manager.reconcile()).body;
      expect(before.problems).toHaveLength(1);
      await manager.repository.commit({
        [WEB]: 'container_image: nginx:1.27\n',
        [BAD]: 'container_image: good:1\n',
      });
      const head = await manager.repository.git('rev-parse', 'HEAD');
      // The commit may have been seen already; from here on only what is applied counts.
      const start = (await manager.reconcile()).body;
      expect(start.revision_applied).toBe(head);
      await manager.repository.commit({ [BAD]: 'container_image: 2\n' });
      const applied = (await manager.reconcile()).body;
      const since = applied.problems[0].since;
      const mend = await fail(manager);
      if (_n.startsWith('the store')) {
        await manager.repository.commit({
          [WEB]: 'container_image: nginx:1.28\n',
          [BAD]: 'container_image: ok:1\n',
        });
      }
      const [first, second] = [(await manager.reconcile()).body, (await manager.reconcile()).body];
      for (const status of [first, second]) {
        expect(status.state).toBe('failing');
        expect(status.revision_applied).toBe(applied.revision_applied);
        expect(status.applied_at).toBe(applied.applied_at);
        expect(status.error.since).toBe(first.error.since);
        expect(status.error.retry_at).not.toBeNull();
      }
      expect(second.error.failures).toBeGreaterThan(first.error.failures);
      if (!_n.startsWith('the store')) {
        expect(
          second.problems.map((problem: Record<string, unknown>) => [problem['file'], problem['since']]),
        ).toEqual([['apps/bad.yaml', since]]);
      }
      await mend();
      const healed = (await manager.reconcile()).body;
      expect(healed.error).toBeNull();
      expect(healed.revision_applied).toBe(await manager.repository.git('rev-parse', 'HEAD'));
    },
  );

  it('nor does a pass that failed between objects make their problem look solved', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.repository.commit({ 'desired-state/device-groups/edge.yaml': 'apps: [web, nobody]\n' });
    const { problems } = (await manager.reconcile()).body;
    expect(problems[0].code).toBe('app-unknown');
    const [, fail] = FAULTS[1] as (typeof FAULTS)[number];
    const mend = await fail(manager);
    expect((await manager.reconcile()).body.problems).toEqual(problems);
    await mend();
    expect((await manager.reconcile()).body.problems).toEqual(problems);
  });
});

describe('one push that touches everything', () => {
  const many = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [`apps/app-${i}.yaml`, `container_image: i:${i}\n`]),
  );
  const groups = Object.fromEntries(
    Array.from({ length: 10 }, (_, i) => [`device-groups/g-${i}.yaml`, `apps: [app-${i}, app-${i + 10}]\n`]),
  );

  it('cannot be: a commit of one file changes one row, one id and one reply, and the log says why', async () => {
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
    const [world, replies, stored, lines] = [
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
    const app = world.apps['app-3'] as { app_id: number };
    expect(after.apps).toEqual({
      ...world.apps,
      'app-3': { ...app, container_image: 'j:3', app_id: app.app_id + 1 },
    });
    expect(after.groups).toEqual(world.groups);
    // That of the app, and that of its id.
    expect(rows().filter((row) => !stored.includes(row))).toHaveLength(2);
    const changed = (await infos())
      .map((text, i) => (text === replies[i] ? null : i))
      .filter((i) => i !== null);
    expect(changed).toEqual([3]);
    const told = manager.log.slice(lines).filter((line) => 'kind' in line && 'name' in line);
    expect(told).toEqual([
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

  it('nor does an upgrade that adds a field with a default: no id rises, no reply changes', async () => {
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
