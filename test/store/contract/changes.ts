import { describe, expect, it } from 'vitest';
import { keyOf } from '../../../src/desired/name.ts';
import type { AppliedObject, GroupInfo, Store, StoreState } from '../../../src/store/store.ts';
import {
  AT,
  app,
  appStep,
  CONTEXT,
  group,
  groupStep,
  type OpenStore,
  pass,
  seed,
  useStore,
} from './support.ts';

type Objects = Map<string, AppliedObject>;

async function objectsOf(store: Store): Promise<Objects> {
  const objects = await store.appliedObjects();
  return new Map(objects.map((object) => [keyOf(object.kind, object.name), object]));
}

/** What a caller makes of an earlier look and the changes since; null where the store cannot tell them. */
async function caughtUp(store: Store, before: Objects, mark: string | null): Promise<Objects | null> {
  const changes = mark === null ? null : await store.changedObjects(mark);
  if (changes === null) return null;
  const now = new Map(before);
  for (const { kind, name } of changes.gone) now.delete(keyOf(kind, name));
  for (const object of changes.objects) now.set(keyOf(object.kind, object.name), object);
  return now;
}

/** What devices of each group are told; null where that cannot be said now. */
async function toldIn(store: Store): Promise<Map<string, Omit<GroupInfo, 'revision'> | null>> {
  const told = new Map<string, Omit<GroupInfo, 'revision'> | null>();
  for (const name of (await store.groupNames()).value) {
    const info = await store.groupInfo(name).catch(() => null);
    told.set(name, info && { group: info.group, apps: info.apps });
  }
  return told;
}

/** What a caller tells on, of what was told when it looked; null where everything may have changed. */
async function stillTold(
  store: Store,
  { state, told }: { state: StoreState; told: Awaited<ReturnType<typeof toldIn>> },
): Promise<Awaited<ReturnType<typeof toldIn>> | null> {
  const changed = await store.changedForDevices(state);
  if (changed === null) return null;
  const keys = new Set(changed.map(({ kind, name }) => keyOf(kind, name)));
  const isTouched = (name: string, info: Omit<GroupInfo, 'revision'> | null): boolean =>
    info === null ||
    keys.has(keyOf('device_group', name)) ||
    info.apps.some((app) => keys.has(keyOf('app', app.name)));
  return new Map([...told].filter(([name, info]) => !isTouched(name, info)));
}

const OTHER = { path: 'desired-state/other.yaml', blob: 'aa' };

/** Each changes something, or nothing; in this order each has something to work on. */
const ACTS: Record<string, (store: Store) => Promise<unknown>> = {
  'a change': (store) => pass(store, [appStep('web', app('v2'))], 'r2'),
  'a new object': (store) => pass(store, [appStep('new', app('x')), groupStep('lab', group('new'))], 'r3'),
  'a deletion': (store) => pass(store, [groupStep('lab', null), appStep('new', null)], 'r4'),
  'a change back': (store) => pass(store, [appStep('web', app('v1'))], 'r5'),
  'another file': async (store) => {
    const sequence = await store.claimHead((await store.state()).sequence, 'r6', AT);
    const origins = [{ kind: 'app' as const, name: 'web', origin: OTHER }];
    await store.apply({ revision: 'r6', sequence, at: AT, steps: [], origins, rules: 'r1' });
  },
  'a restart': (store) => store.restartApp('web', CONTEXT),
  'a prune': (store) => store.pruneGroup('edge', CONTEXT),
  'a prune of all': (store) => store.pruneAll(CONTEXT),
  'an attempt': (store) => store.markAttempted('r7', AT),
  'a seeding that drops an object': (store) =>
    seed(store, { seeds: [{ kind: 'app', name: 'db', last: 90, floor: 0, hash: 'ab' }], idSequence: 0 }),
};

export function changesContract(open: OpenStore): void {
  const test = useStore(open);

  describe('changedObjects', () => {
    it('brings whoever looked before to where the store is, or says that it cannot', async () => {
      const first = [appStep('web', app('v1')), appStep('db', app('pg')), groupStep('edge', group('web'))];
      await pass(test.store, first);
      const looks: { mark: string | null; objects: Objects }[] = [];
      for (const [act, run] of Object.entries(ACTS)) {
        const { mark } = await test.store.state();
        looks.push({ mark, objects: await objectsOf(test.store) });
        await run(test.store);
        const now = await objectsOf(test.store);
        for (const look of looks) {
          const found = await caughtUp(test.store, look.objects, look.mark);
          if (found !== null) expect(found, act).toEqual(now);
        }
      }
    });

    it('works with a mark of before a restart of the manager', async () => {
      await pass(test.store, [appStep('web', app('v1'))]);
      const { mark } = await test.store.state();
      const before = await objectsOf(test.store);
      await pass(test.store, [appStep('web', app('v2'))]);
      const store = await test.reopen();
      const found = await caughtUp(store, before, mark);
      if (found !== null) expect(found).toEqual(await objectsOf(store));
    });

    it.each(['0/', '/', '7/0123456789abcdef01234567', 'x'])(
      'cannot tell for %s, which is no mark of this store',
      async (mark) => {
        await pass(test.store, [appStep('web', app('v1'))]);
        expect(await test.store.changedObjects(mark)).toBeNull();
      },
    );
  });

  describe('changedForDevices', () => {
    it('names each group that is told something else, or an app of it', async () => {
      const first = [
        appStep('web', app('v1')),
        appStep('db', app('pg')),
        groupStep('edge', group('web')),
        groupStep('hall', group('db', 'web')),
        groupStep('none', group()),
      ];
      await pass(test.store, first);
      const looks: Parameters<typeof stillTold>[1][] = [];
      let spared = 0;
      for (const [act, run] of Object.entries(ACTS)) {
        looks.push({ state: await test.store.state(), told: await toldIn(test.store) });
        await run(test.store);
        const now = await toldIn(test.store);
        for (const look of looks) {
          const still = (await stillTold(test.store, look)) ?? new Map();
          spared += still.size;
          expect(new Map([...still.keys()].map((name) => [name, now.get(name)])), act).toEqual(still);
        }
      }
      expect(spared).toBeGreaterThan(0);
    });

    it('names nothing where only the applied revision is another', async () => {
      await pass(test.store, [appStep('web', app('v1')), groupStep('edge', group('web'))]);
      const state = await test.store.state();
      await pass(test.store, [], 'r2');
      const changed = await test.store.changedForDevices(state);
      expect(changed?.length ?? 0).toBe(0);
    });
  });
}
