import { describe, expect, it } from 'vitest';
import { contentHash } from '../../../src/ids/content-hash.ts';
import type { CounterSeed } from '../../../src/ids/id-store.ts';
import type { Store } from '../../../src/store/objects/port.ts';
import {
  app,
  appId,
  appStep,
  CONTEXT,
  counterOf,
  everything,
  group,
  groupIds,
  groupStep,
  type OpenStore,
  pass,
  rejection,
  SEEDED_FROM,
  seed,
  useStore,
} from './support.ts';

const FLOOR = 1_800_000_000;
const NGINX = app('nginx');
const MEMBERS = group('web');

function appSeed(last: number, content = NGINX): CounterSeed {
  return { kind: 'app', name: 'web', last, floor: FLOOR, hash: contentHash('app', content) };
}

function groupSeeds(last: number, pruned: number): CounterSeed[] {
  return [
    { kind: 'device_group', name: 'edge', last, floor: FLOOR, hash: contentHash('device_group', MEMBERS) },
    { kind: 'prune', name: 'edge', last: pruned, floor: FLOOR, hash: null },
  ];
}

async function restartedId(store: Store): Promise<number | undefined> {
  return (await store.restartApp('web', CONTEXT))?.value.appId;
}

export function seedsContract(open: OpenStore): void {
  const test = useStore(open);

  describe('seedCounters', () => {
    it('marks the store as seeded even if there are no ids to take over', async () => {
      await seed(test.store, { seeds: [], idSequence: 0 });
      expect(await test.store.state()).toMatchObject({ seededFrom: SEEDED_FROM, applied: null });
      expect((await (await test.reopen()).state()).seededFrom).toEqual(SEEDED_FROM);
    });

    it('records the history of the last seeding', async () => {
      const second = { line: 'fleet', source: 'bb', revision: 'c'.repeat(40) };
      await seed(test.store, { seeds: [], idSequence: 0 });
      await test.store.seedCounters({ from: second, seeds: [], idSequence: 0 });
      expect((await (await test.reopen()).state()).seededFrom).toEqual(second);
    });

    it('raises the id sequence above the given one and above its own', async () => {
      await seed(test.store, { seeds: [], idSequence: 41 });
      const first = (await test.store.state()).idSequence;
      expect(first).toBeGreaterThan(41);
      await seed(test.store, { seeds: [], idSequence: 7 });
      expect((await test.store.state()).idSequence).toBeGreaterThan(first);
    });

    it('reports every counter as changed', async () => {
      await pass(test.store, [appStep('db', app('pg'))]);
      await seed(test.store, { seeds: [appSeed(5), ...groupSeeds(2, 3)], idSequence: 40 });
      const rows = await test.store.counters(40);
      expect(rows.map(({ kind, name }) => `${kind}/${name}`).sort()).toEqual(
        ['app/db', 'app/web', 'device_group/edge', 'prune/edge'].sort(),
      );
    });

    it('lists the seeded counters before any pass', async () => {
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      const { floor: _, ...row } = appSeed(5);
      expect(await counterOf(test.store, 'app', 'web')).toEqual(row);
    });

    it('never lowers an id or a floor', async () => {
      await pass(test.store, [appStep('web', NGINX)]);
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      await seed(test.store, { seeds: [{ ...appSeed(3), floor: 10 }], idSequence: 40 });
      expect(await appId(test.store, 'web')).toBe(5);
      expect(await restartedId(test.store)).toBe(FLOOR);
    });

    it('assigns the same ids if it is repeated', async () => {
      await pass(test.store, [appStep('web', NGINX)]);
      const seeds = [appSeed(5), ...groupSeeds(2, 3)];
      await seed(test.store, { seeds, idSequence: 40 });
      await seed(test.store, { seeds, idSequence: 40 });
      await pass(test.store, [groupStep('edge', MEMBERS)]);
      expect(await appId(test.store, 'web')).toBe(5);
      expect(await groupIds(test.store, 'edge')).toEqual([2, 3]);
    });
  });

  describe('a new store that is seeded with the ids of a lost one', () => {
    it('keeps the recorded id of an app that has the recorded content, and returns it', async () => {
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      expect(await pass(test.store, [appStep('web', NGINX)])).toEqual([{ kind: 'app', name: 'web', id: 5 }]);
      expect(await appId(test.store, 'web')).toBe(5);
      expect(await counterOf(test.store, 'app', 'web')).toMatchObject({ last: 5, hash: appSeed(5).hash });
    });

    it('keeps both recorded ids of a group that has the recorded content', async () => {
      await seed(test.store, { seeds: groupSeeds(4, 6), idSequence: 40 });
      await pass(test.store, [groupStep('edge', MEMBERS)]);
      expect(await groupIds(test.store, 'edge')).toEqual([4, 6]);
    });

    it('assigns a new prune id to a group if none is recorded', async () => {
      const [own] = groupSeeds(4, 0);
      await seed(test.store, { seeds: [own!], idSequence: 40 });
      await pass(test.store, [groupStep('edge', MEMBERS)]);
      expect(await groupIds(test.store, 'edge')).toEqual([4, 1]);
    });

    it('raises a kept id to the floor at its first change, and by one at each later change', async () => {
      await seed(test.store, { seeds: [appSeed(5), ...groupSeeds(4, 6)], idSequence: 40 });
      await pass(test.store, [appStep('web', NGINX), groupStep('edge', MEMBERS)]);
      expect(await restartedId(test.store)).toBe(FLOOR);
      expect(await restartedId(test.store)).toBe(FLOOR + 1);
      await test.store.pruneGroup('edge', CONTEXT);
      expect(await groupIds(test.store, 'edge')).toEqual([4, FLOOR]);
      await pass(test.store, [groupStep('edge', group())]);
      expect(await groupIds(test.store, 'edge')).toEqual([FLOOR, FLOOR]);
    });

    it('raises the ids to the floor if the content is not the recorded one', async () => {
      await seed(test.store, { seeds: [appSeed(5), ...groupSeeds(4, 6)], idSequence: 40 });
      await pass(test.store, [appStep('web', app('nginx:2')), groupStep('edge', group())]);
      expect(await appId(test.store, 'web')).toBe(FLOOR);
      expect(await groupIds(test.store, 'edge')).toEqual([FLOOR, FLOOR]);
    });

    it('assigns the floor as the id if only the name is recorded', async () => {
      await seed(test.store, {
        seeds: [{ kind: 'app', name: 'web', last: 0, floor: FLOOR, hash: null }],
        idSequence: 0,
      });
      await pass(test.store, [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(FLOOR);
    });

    it('raises the recorded id by one if the floor is lower', async () => {
      await seed(test.store, { seeds: [{ ...appSeed(5), floor: 3, hash: null }], idSequence: 0 });
      await pass(test.store, [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(6);
    });

    it('never assigns the id 0, even if it is recorded with the hash of the content', async () => {
      await seed(test.store, { seeds: [appSeed(0)], idSequence: 40 });
      await pass(test.store, [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(FLOOR);
    });

    it('assigns the id 1 to a name that was not seeded', async () => {
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      await pass(test.store, [appStep('new', NGINX)]);
      expect(await appId(test.store, 'new')).toBe(1);
    });

    it('assigns the default floor to every name that was not seeded, even after a restart', async () => {
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40, defaultFloor: FLOOR });
      await pass(test.store, [appStep('new', NGINX), groupStep('yard', group('new'))]);
      expect(await appId(test.store, 'new')).toBe(FLOOR);
      expect(await groupIds(test.store, 'yard')).toEqual([FLOOR, FLOOR]);
      const reopened = await test.reopen();
      await pass(reopened, [appStep('newer', NGINX)]);
      expect(await appId(reopened, 'newer')).toBe(FLOOR);
      await pass(reopened, [appStep('newer', app('nginx:2'))]);
      expect(await appId(reopened, 'newer')).toBe(FLOOR + 1);
    });

    it('never lowers the default floor', async () => {
      await seed(test.store, { seeds: [], idSequence: 0, defaultFloor: FLOOR });
      await seed(test.store, { seeds: [], idSequence: 0 });
      await pass(test.store, [appStep('new', NGINX)]);
      expect(await appId(test.store, 'new')).toBe(FLOOR);
    });

    it('keeps a recorded id only once: after a delete, the same content gets a new id', async () => {
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      await pass(test.store, [appStep('web', NGINX)]);
      await pass(test.store, [appStep('web', null)]);
      expect(await counterOf(test.store, 'app', 'web')).toMatchObject({ last: 5, hash: null });
      await pass(test.store, [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(FLOOR);
    });

    it('assigns a new id to the recorded content if another content was applied before it', async () => {
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      await pass(test.store, [appStep('web', app('nginx:2'))]);
      await pass(test.store, [appStep('web', null)]);
      await pass(test.store, [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(FLOOR + 1);
    });

    it('assigns a new id to the recorded content if a delete was applied before it', async () => {
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      await pass(test.store, [appStep('web', null)]);
      await pass(test.store, [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(FLOOR);
    });

    it('keeps a seeded counter until its object is created, even over a restart', async () => {
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      await pass(test.store, [appStep('other', NGINX)]);
      await pass(await test.reopen(), [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(5);
    });
  });

  describe('a store restored from an old backup', () => {
    it('assigns the recorded id to an outdated app that has the recorded content', async () => {
      await pass(test.store, [appStep('web', NGINX)], 'r1');
      const { oid } = (await test.store.object('app', 'web')).value!;
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      expect((await test.store.object('app', 'web')).value).toMatchObject({ appId: 5, oid, content: NGINX });
      expect((await test.store.state()).applied?.revision).toBe('r1');
      expect(await restartedId(test.store)).toBe(FLOOR);
    });

    it('drops an outdated app that has another content', async () => {
      await pass(test.store, [appStep('web', app('old')), appStep('db', NGINX)]);
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      expect((await test.store.object('app', 'web')).value).toBeNull();
      expect((await test.store.names('app')).value).toEqual(['db']);
      expect(await test.store.appliedObjects()).toHaveLength(1);
      await pass(test.store, [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(5);
    });

    it('drops an outdated app that is recorded as deleted', async () => {
      await pass(test.store, [appStep('web', NGINX)]);
      await seed(test.store, { seeds: [{ ...appSeed(5), hash: null }], idSequence: 40 });
      expect((await test.store.object('app', 'web')).value).toBeNull();
      await pass(test.store, [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(FLOOR);
    });

    it('drops an app whose id is recorded for another content', async () => {
      await pass(test.store, [appStep('web', app('old'))]);
      await seed(test.store, { seeds: [appSeed(1)], idSequence: 40 });
      expect((await test.store.object('app', 'web')).value).toBeNull();
      await pass(test.store, [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(FLOOR);
    });

    it('drops an app whose seeded id is then recorded for another content, and does not assign that id again', async () => {
      await pass(test.store, [appStep('web', NGINX)]);
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      await seed(test.store, { seeds: [appSeed(5, app('other'))], idSequence: 40 });
      await pass(test.store, [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(FLOOR);
    });

    it.each([
      ['for another content', appSeed(5, app('other'))],
      ['as deleted', { ...appSeed(5), hash: null }],
    ])('assigns no seeded id that is then recorded %s before its app is stored', async (_, second) => {
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      await seed(test.store, { seeds: [second], idSequence: 40 });
      await pass(test.store, [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(FLOOR);
    });

    it('drops apps whose ids are then recorded for another content, both a recorded id and a raised one', async () => {
      await seed(test.store, { seeds: [appSeed(5), { ...appSeed(5), name: 'db' }], idSequence: 40 });
      await pass(test.store, [appStep('web', NGINX), appStep('db', app('pg'))]);
      await seed(test.store, {
        seeds: [appSeed(5, app('other')), { ...appSeed(FLOOR, app('other')), name: 'db' }],
        idSequence: 40,
      });
      await pass(test.store, [appStep('web', NGINX), appStep('db', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(FLOOR);
      expect(await appId(test.store, 'db')).toBe(FLOOR + 1);
    });

    it('has no applied revision from the drop of an object until the next pass', async () => {
      await pass(test.store, [appStep('web', app('old')), groupStep('edge', MEMBERS)], 'r1');
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      expect((await test.store.state()).applied).toBeNull();
      expect(await rejection(test.store.groupInfo('edge'))).toBe('unavailable');
      await pass(test.store, [appStep('web', NGINX)], 'r2');
      expect((await test.store.state()).applied?.revision).toBe('r2');
      expect((await test.store.groupInfo('edge'))?.apps).toHaveLength(1);
    });

    it('drops an outdated group, and assigns its recorded ids when the recorded content is applied', async () => {
      await pass(test.store, [groupStep('edge', group())]);
      await seed(test.store, { seeds: groupSeeds(4, 6).reverse(), idSequence: 40 });
      expect((await test.store.object('device_group', 'edge')).value).toBeNull();
      await pass(test.store, [groupStep('edge', MEMBERS)]);
      expect(await groupIds(test.store, 'edge')).toEqual([4, 6]);
    });

    it('raises the prune id of a stored group to the recorded one', async () => {
      await pass(test.store, [groupStep('edge', MEMBERS)]);
      await seed(test.store, { seeds: groupSeeds(1, 6), idSequence: 40 });
      expect(await groupIds(test.store, 'edge')).toEqual([1, 6]);
      await test.store.pruneGroup('edge', CONTEXT);
      expect(await groupIds(test.store, 'edge')).toEqual([1, FLOOR]);
    });

    it('does not change objects that are up to date, and raises their next id to the floor', async () => {
      await pass(test.store, [appStep('web', NGINX), groupStep('edge', MEMBERS)]);
      await test.store.restartApp('web', CONTEXT);
      const { idSequence: _, seededFrom: __, mark: ___, ...before } = await test.store.state();
      await seed(test.store, { seeds: [appSeed(2), ...groupSeeds(1, 1)], idSequence: 40 });
      expect(await test.store.state()).toMatchObject(before);
      expect(await appId(test.store, 'web')).toBe(2);
      expect(await groupIds(test.store, 'edge')).toEqual([1, 1]);
      expect(await restartedId(test.store)).toBe(FLOOR);
    });

    it('does not change an app whose id is above the recorded one, whatever content is recorded', async () => {
      await pass(test.store, [appStep('web', app('old'))]);
      await pass(test.store, [appStep('web', NGINX)], 'r2');
      await seed(test.store, { seeds: [appSeed(1, app('other'))], idSequence: 40 });
      expect((await test.store.object('app', 'web')).value).toMatchObject({ appId: 2, content: NGINX });
      expect((await test.store.state()).applied?.revision).toBe('r2');
    });

    it('does not change an app that is recorded as deleted with the id that it has: no other content had that id', async () => {
      await pass(test.store, [appStep('web', NGINX)]);
      await seed(test.store, { seeds: [{ ...appSeed(1), hash: null }], idSequence: 40 });
      expect((await test.store.object('app', 'web')).value).toMatchObject({ appId: 1, content: NGINX });
    });

    it('assigns a new id to the recorded content if its own counter is above the recorded id', async () => {
      await pass(test.store, [appStep('web', NGINX)]);
      await pass(test.store, [appStep('web', app('nginx:2'))]);
      await pass(test.store, [appStep('web', null)]);
      await seed(test.store, { seeds: [appSeed(1)], idSequence: 40 });
      await pass(test.store, [appStep('web', NGINX)]);
      expect(await appId(test.store, 'web')).toBe(FLOOR);
    });

    it('does not change objects without a seed', async () => {
      await pass(test.store, [appStep('db', app('pg')), groupStep('lab', group('db'))]);
      const before = (await everything(test.store)) as Record<string, unknown>;
      await seed(test.store, { seeds: [appSeed(5)], idSequence: 40 });
      const after = (await everything(test.store)) as Record<string, unknown>;
      for (const part of ['objects', 'apps', 'groups', 'operations'])
        expect(after[part]).toEqual(before[part]);
    });
  });
}
