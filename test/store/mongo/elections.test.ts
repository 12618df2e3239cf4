import { randomBytes } from 'node:crypto';
import type { Scheduler } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { appDefaults } from '../../../src/desired/app.ts';
import type { Documents } from '../../../src/store/mongo/documents.ts';
import { DocumentStore } from '../../../src/store/mongo/store.ts';
import type { Store } from '../../../src/store/store.ts';
import { app, appId, appStep, CONTEXT, group, groupStep, pass, rejection } from '../contract/support.ts';
import { ModelDatabase, ModelDocuments } from './model.ts';

const CALM = { schedule: (task: Promise<unknown>) => task } as unknown as Scheduler;

/** A manager on the database; `change` puts other calls in the place of some. */
function open(
  database: ModelDatabase,
  change: (documents: Documents) => Partial<Documents> = () => ({}),
  inlineLimit = 1_000_000,
  onPause: () => void = () => undefined,
): Store {
  const documents: Documents = new ModelDocuments({
    database,
    scheduler: CALM,
    nextFate: () => 'ok',
    mistake: null,
  });
  const changes = change(documents);
  return new DocumentStore({
    documents: new Proxy(documents, {
      get: (target, name: keyof Documents) => changes[name] ?? target[name].bind(target),
    }),
    defaults: appDefaults(['nebula', 'bridge']),
    random: randomBytes,
    pause: async () => onPause(),
    inlineLimit,
  });
}

/** Runs `event` before the first call only. */
function firstAfter<A extends unknown[], R>(event: () => void, call: (...args: A) => R): (...args: A) => R {
  let isFirst = true;
  return (...args) => {
    if (isFirst) event();
    isFirst = false;
    return call(...args);
  };
}

/** A fleet of one app, restarted once: a new primary that lags behind does not show the restart yet. */
async function restarted(): Promise<{ database: ModelDatabase; elect: () => void }> {
  const database = new ModelDatabase();
  const store = open(database);
  await pass(store, [appStep('web', app('web:1')), groupStep('edge', group('web'))]);
  const before = structuredClone(database.majority);
  await store.restartApp('web', CONTEXT);
  return { database, elect: () => database.elect(before) };
}

describe('a new primary, which does not know yet all that a majority has', () => {
  it('chosen in the middle of a write: no id is given twice', async () => {
    const { database, elect } = await restarted();
    const other = open(database, (documents) => ({
      objects: firstAfter(elect, (ids) => documents.objects(ids)),
    }));
    expect((await other.restartApp('web', CONTEXT))?.value.appId).toBe(3);
    expect(await other.operations(null, 10)).toHaveLength(2);
  });

  it('chosen in the middle of a read: the reply is of one version', async () => {
    const { database, elect } = await restarted();
    let calls = 0;
    const other = open(database, (documents) => ({
      objects: (ids) => {
        calls += 1;
        if (calls === 2) elect();
        return documents.objects(ids);
      },
    }));
    await open(database).pruneGroup('edge', CONTEXT);
    const info = await other.groupInfo('edge');
    expect([info?.group.pruneId, info?.apps[0]?.appId]).toEqual([1, 1]);
    database.replicate();
    expect((await other.groupInfo('edge'))?.group.pruneId).toBe(2);
  });

  it('chosen in the middle of a read of everything: nothing that changed last is left out', async () => {
    const { database, elect } = await restarted();
    const mark = (await open(database).state()).mark ?? '';
    await pass(open(database), [appStep('db', app('db:1')), appStep('web', app('web:2'))], 'r2');
    const during = () =>
      open(database, (documents) => ({
        objectsSince: firstAfter(elect, async (...scan) => {
          const found = await documents.objectsSince(...scan);
          database.replicate();
          return found;
        }),
      }));
    expect((await during().appNames()).value).toEqual(['db', 'web']);
    expect((await during().changedObjects(mark))?.objects.map(({ name }) => name).sort()).toEqual([
      'db',
      'web',
    ]);
    const counters = await during().counters(0);
    expect(counters.find(({ kind, name }) => kind === 'app' && name === 'web')?.last).toBe(3);
    expect((await during().appliedObjects()).map(({ name }) => name).sort()).toEqual(['db', 'edge', 'web']);
  });

  it('chosen between two calls: the second tells of nothing older than the first', async () => {
    const { database, elect } = await restarted();
    const store = open(database);
    const seen = await store.state();
    const before = structuredClone(database.majority);
    await store.pruneGroup('edge', CONTEXT);
    const now = await store.state();
    expect(now.mark).not.toBe(seen.mark);
    let pauses = 0;
    const patient = open(
      database,
      () => ({}),
      1_000_000,
      () => {
        pauses += 1;
        if (pauses === 3) database.replicate();
      },
    );
    expect((await patient.state()).mark).toBe(now.mark);
    database.elect(before);
    expect(await patient.changedForDevices(seen)).toEqual([{ kind: 'device_group', name: 'edge' }]);
    expect(pauses).toBe(3);
    elect();
    pauses = 3;
    // As many as it takes to tell a new primary from a backup that was restored.
    expect((await patient.state()).mark).not.toBe(now.mark);
    expect(pauses).toBeGreaterThan(10);
    const settled = pauses;
    await patient.state();
    expect(pauses).toBe(settled);
  });

  it('chosen while somebody settles a large write: nothing of it is lost', async () => {
    const { database, elect } = await restarted();
    const dying = open(database, () => ({ put: () => Promise.reject(new Error('killed')) }), 1);
    await pass(dying, [appStep('web', app('web:2'))], 'r2').catch(() => undefined);
    const other = open(database, (documents) => ({
      staged: firstAfter(elect, (writer) => documents.staged(writer)),
    }));
    await rejection(other.app('web'));
    database.replicate();
    const found = await other.app('web');
    expect(found).toMatchObject({ revision: 'r2', value: { content: { container_image: 'web:2' } } });
    expect(await appId(other, 'web')).toBe(3);
  });
});
