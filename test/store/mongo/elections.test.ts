import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Scheduler } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../../src/errors.ts';
import { appDefaults } from '../../../src/protocol/app.ts';
import type { Documents } from '../../../src/store/root/documents.ts';
import {
  app,
  appId,
  appStep,
  CONTEXT,
  group,
  groupStep,
  operationsOf,
  pass,
  rejection,
} from '../contract/support.ts';
import { ModelDatabase, ModelDocuments, type ModelStore, openModel } from './model.ts';

/** Runs every command at once. */
const IN_ORDER = { schedule: (task: Promise<unknown>) => task } as unknown as Scheduler;

interface OpenOptions {
  /** Commands to use instead of those of the database. */
  replace?: (documents: Documents) => Partial<Documents>;
  /** Characters of changes that a root carries itself. */
  inlineLimit?: number;
  /** Runs whenever the store waits before it tries again. */
  onPause?: () => void;
}

/** A manager's store on the database. */
function open(
  database: ModelDatabase,
  { replace = () => ({}), inlineLimit = 1_000_000, onPause = () => undefined }: OpenOptions = {},
): ModelStore {
  const documents: Documents = new ModelDocuments({
    database,
    scheduler: IN_ORDER,
    nextFate: () => 'ok',
    mistake: null,
  });
  const replaced = replace(documents);
  return openModel({
    documents: new Proxy(documents, {
      get: (target, name: keyof Documents) => replaced[name] ?? target[name].bind(target),
    }),
    defaults: appDefaults(['nebula', 'bridge']),
    random: randomBytes,
    pause: async () => onPause(),
    inlineLimit,
  });
}

/** Returns `call` with `event` before its first run. */
function afterEvent<A extends unknown[], R>(event: () => void, call: (...args: A) => R): (...args: A) => R {
  let isFirst = true;
  return (...args) => {
    if (isFirst) event();
    isFirst = false;
    return call(...args);
  };
}

/** A fleet of one app that was restarted once. `elect` chooses a new primary that does not show the restart yet. */
async function restartedFleet(): Promise<{ database: ModelDatabase; elect: () => void }> {
  const database = new ModelDatabase();
  const store = open(database);
  await pass(store, [appStep('web', app('web:1')), groupStep('edge', group('web'))]);
  const before = structuredClone(database.majority);
  await store.restartApp('web', CONTEXT);
  return { database, elect: () => database.elect(before) };
}

describe('an election whose new primary does not show the last changes yet', () => {
  it('makes a write during which it happens start again, so that no id is used twice', async () => {
    const { database, elect } = await restartedFleet();
    const other = open(database, {
      replace: (documents) => ({ objects: afterEvent(elect, (ids) => documents.objects(ids)) }),
    });
    expect((await other.restartApp('web', CONTEXT))?.value.appId).toBe(3);
    expect(await operationsOf(other)).toHaveLength(2);
  });

  it('makes a read during which it happens return one version', async () => {
    const { database, elect } = await restartedFleet();
    let calls = 0;
    const other = open(database, {
      replace: (documents) => ({
        objects: (ids) => {
          calls += 1;
          if (calls === 2) elect();
          return documents.objects(ids);
        },
      }),
    });
    await open(database).pruneGroup('edge', CONTEXT);
    const info = await other.groupInfo('edge');
    expect([info?.group.pruneId, info?.apps[0]?.appId]).toEqual([1, 1]);
    database.replicate();
    expect((await other.groupInfo('edge'))?.group.pruneId).toBe(2);
  });

  it('makes a scan of all objects during which it happens include the last changes', async () => {
    const { database, elect } = await restartedFleet();
    const mark = (await open(database).state()).mark ?? '';
    await pass(open(database), [appStep('db', app('db:1')), appStep('web', app('web:2'))], 'r2');
    const interrupted = () =>
      open(database, {
        replace: (documents) => ({
          objectsSince: afterEvent(elect, async (...scan) => {
            const found = await documents.objectsSince(...scan);
            database.replicate();
            return found;
          }),
        }),
      });
    expect((await interrupted().names('app')).value).toEqual(['db', 'web']);
    expect((await interrupted().changedObjects(mark))?.objects.map(({ name }) => name).sort()).toEqual([
      'db',
      'web',
    ]);
    const counters = await interrupted().counters(0);
    expect(counters.find(({ kind, name }) => kind === 'app' && name === 'web')?.last).toBe(3);
    expect((await interrupted().appliedObjects()).map(({ name }) => name).sort()).toEqual([
      'db',
      'edge',
      'web',
    ]);
  });

  it('makes the next call wait until the new primary has caught up, but not forever', async () => {
    const { database, elect } = await restartedFleet();
    const store = open(database);
    const earlier = await store.state();
    const before = structuredClone(database.majority);
    await store.pruneGroup('edge', CONTEXT);
    const now = await store.state();
    expect(now.mark).not.toBe(earlier.mark);
    let pauses = 0;
    const waiting = open(database, {
      onPause: () => {
        pauses += 1;
        if (pauses === 3) database.replicate();
      },
    });
    expect((await waiting.state()).mark).toBe(now.mark);
    database.elect(before);
    expect(await waiting.changedForDevices(earlier)).toEqual([{ kind: 'device_group', name: 'edge' }]);
    expect(pauses).toBe(3);
    elect();
    pauses = 3;
    // After about forty reads an older root counts as that of a restored backup.
    expect((await waiting.state()).mark).not.toBe(now.mark);
    expect(pauses).toBeGreaterThan(10);
    const settled = pauses;
    await waiting.state();
    expect(pauses).toBe(settled);
  });

  it('loses no part of a large write that another manager is settling', async () => {
    const { database, elect } = await restartedFleet();
    const dying = open(database, {
      replace: () => ({ put: () => Promise.reject(new Error('killed')) }),
      inlineLimit: 1,
    });
    await pass(dying, [appStep('web', app('web:2'))], 'r2').catch(() => undefined);
    const other = open(database, {
      replace: (documents) => ({ staged: afterEvent(elect, (writer) => documents.staged(writer)) }),
    });
    await rejection(other.object('app', 'web'));
    database.replicate();
    const found = await other.object('app', 'web');
    expect(found).toMatchObject({ revision: 'r2', value: { content: { container_image: 'web:2' } } });
    expect(await appId(other, 'web')).toBe(3);
  });

  it('makes a manager wait until the new primary shows its own last write', async () => {
    const { database, elect } = await restartedFleet();
    const store = open(database, { onPause: () => database.replicate() });
    await store.restartApp('web', CONTEXT);
    elect();
    expect(await appId(store, 'web')).toBe(3);
  });

  it('makes a manager wait until the new primary shows a later write that it read before its own was confirmed', async () => {
    const { database } = await restartedFleet();
    const other = open(database);
    let own = database.majority;
    let seen: unknown;
    const store: ModelStore = open(database, {
      onPause: () => database.replicate(),
      replace: (documents) => ({
        swapRoot: async (...swap) => {
          const isSwapped = await documents.swapRoot(...swap);
          own = structuredClone(database.majority);
          await other.restartApp('web', CONTEXT);
          seen = await store.state();
          return isSwapped;
        },
      }),
    });
    await store.restartApp('web', CONTEXT);
    database.elect(own);
    expect(await store.state()).toEqual(seen);
  });

  it('does not repeat a write of unknown outcome that happened, however long the new primary is behind', async () => {
    const { database, elect } = await restartedFleet();
    const store = open(database, {
      replace: (documents) => {
        let isFirst = true;
        return {
          swapRoot: async (...swap) => {
            const isSwapped = await documents.swapRoot(...swap);
            if (!isFirst) return isSwapped;
            isFirst = false;
            elect();
            throw new HoldfastError('unavailable', 'the connection broke');
          },
        };
      },
    });
    expect((await store.restartApp('web', CONTEXT))?.value.appId).toBe(3);
    expect(await appId(store, 'web')).toBe(3);
    expect(await operationsOf(store)).toHaveLength(2);
  });

  it('makes a call settle a write again that another call has settled on the old primary', async () => {
    const { database } = await restartedFleet();
    const dying = open(database, { replace: () => ({ put: () => Promise.reject(new Error('killed')) }) });
    await pass(dying, [appStep('web', app('web:2'))], 'r2').catch(() => undefined);
    const before = structuredClone(database.majority);
    let late: Promise<unknown> | null = null;
    const store = open(database, {
      replace: (documents) => ({
        settleRoot: async (...settle) => {
          await documents.settleRoot(...settle);
          if (late !== null) return;
          database.elect(before);
          late = store.object('app', 'web');
          await setImmediate();
        },
      }),
    });
    const early = await store.object('app', 'web');
    for (const found of [early, await late])
      expect(found).toMatchObject({ revision: 'r2', value: { appId: 3, content: app('web:2') } });
  });
});
