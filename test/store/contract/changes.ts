import { describe, expect, it } from 'vitest';
import { keyOf } from '../../../src/protocol/name.ts';
import type {
  AppliedObject,
  GroupInfo,
  SharedStore,
  Store,
  StoreState,
} from '../../../src/store/objects/port.ts';
import type { SharedFlatStore } from '../../support/flat-store.ts';
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

/** `before`, brought up to date with the changes since `mark`; null if the store does not know them. */
async function broughtUpToDate(
  store: SharedStore,
  before: Objects,
  mark: string | null,
): Promise<Objects | null> {
  const changes = mark === null ? null : await store.changedObjects(mark);
  if (changes === null) return null;
  const now = new Map(before);
  for (const { kind, name } of changes.gone) now.delete(keyOf(kind, name));
  for (const object of changes.objects) now.set(keyOf(object.kind, object.name), object);
  return now;
}

/** The reply for the devices of one group, without the revision; null if an app of the group is not stored. */
type Info = Omit<GroupInfo, 'revision'> | null;

/** What the devices of every group are served. */
async function infoByGroup(store: Store): Promise<Map<string, Info>> {
  const infos = new Map<string, Info>();
  for (const name of (await store.names('device_group')).value) {
    const info = await store.groupInfo(name).catch(() => null);
    if (info === null) infos.set(name, null);
    else {
      const { revision: _, ...served } = info;
      infos.set(name, served);
    }
  }
  return infos;
}

interface Served {
  state: StoreState;
  infos: Map<string, Info>;
}

/** The replies of an earlier state that a cache may still serve: those that `changedForDevices` does not affect. */
async function stillValid(store: SharedStore, { state, infos }: Served): Promise<Map<string, Info>> {
  const changed = await store.changedForDevices(state);
  if (changed === null) return new Map();
  const keys = new Set(changed.map(({ kind, name }) => keyOf(kind, name)));
  const isAffected = (name: string, info: Info): boolean =>
    info === null ||
    keys.has(keyOf('device_group', name)) ||
    info.apps.some((app) => keys.has(keyOf('app', app.name)));
  return new Map([...infos].filter(([name, info]) => !isAffected(name, info)));
}

const OTHER_FILE = { path: 'desired-state/other.yaml', blob: 'aa' };

/** Every kind of write, some of which change no object. The order matters: each builds on those before it. */
const WRITES: Record<string, (store: Store) => Promise<unknown>> = {
  'an update': (store) => pass(store, [appStep('web', app('v2'))], 'r2'),
  'a new object': (store) => pass(store, [appStep('new', app('x')), groupStep('lab', group('new'))], 'r3'),
  'a deletion': (store) => pass(store, [groupStep('lab', null), appStep('new', null)], 'r4'),
  'an update to an earlier content': (store) => pass(store, [appStep('web', app('v1'))], 'r5'),
  'a moved file': async (store) => {
    const sequence = await store.claimHead((await store.state()).sequence, 'r6', AT);
    const origins = [{ kind: 'app' as const, name: 'web', origin: OTHER_FILE }];
    await store.apply({ revision: 'r6', sequence, at: AT, steps: [], origins, rules: 'r1' });
  },
  'a restart': (store) => store.restartApp('web', CONTEXT),
  'a prune of one group': (store) => store.pruneGroup('edge', CONTEXT),
  'a prune of all groups': (store) => store.pruneAll(CONTEXT),
  'a revision that is not applied': (store) => store.markAttempted('r7', AT),
  'a seeding that drops an object': (store) =>
    seed(store, { seeds: [{ kind: 'app', name: 'db', last: 90, floor: 0, hash: 'ab' }], idSequence: 0 }),
};

/** What every store promises that several managers share. */
export function changesContract(open: OpenStore<SharedFlatStore>): void {
  const test = useStore(open);

  describe('changedObjects', () => {
    it('either brings the objects of every earlier state up to date, or returns null', async () => {
      const first = [appStep('web', app('v1')), appStep('db', app('pg')), groupStep('edge', group('web'))];
      await pass(test.store, first);
      const snapshots: { mark: string | null; objects: Objects }[] = [];
      for (const [name, write] of Object.entries(WRITES)) {
        const { mark } = await test.store.state();
        snapshots.push({ mark, objects: await objectsOf(test.store) });
        await write(test.store);
        const now = await objectsOf(test.store);
        for (const { objects, mark } of snapshots) {
          const found = await broughtUpToDate(test.store, objects, mark);
          if (found !== null) expect(found, name).toEqual(now);
        }
      }
    });

    it('either accepts a mark from before a restart of the manager, or returns null for it', async () => {
      await pass(test.store, [appStep('web', app('v1'))]);
      const { mark } = await test.store.state();
      const before = await objectsOf(test.store);
      await pass(test.store, [appStep('web', app('v2'))]);
      const store = await test.reopen();
      const found = await broughtUpToDate(store, before, mark);
      if (found !== null) expect(found).toEqual(await objectsOf(store));
    });

    it.each(['0/', '/', '7/0123456789abcdef01234567', 'x'])(
      'returns null for %s, which is not a mark of this store',
      async (mark) => {
        await pass(test.store, [appStep('web', app('v1'))]);
        expect(await test.store.changedObjects(mark)).toBeNull();
      },
    );
  });

  describe('changedForDevices', () => {
    it('names every group whose reply changed, or one of its apps', async () => {
      const first = [
        appStep('web', app('v1')),
        appStep('db', app('pg')),
        groupStep('edge', group('web')),
        groupStep('hall', group('db', 'web')),
        groupStep('none', group()),
      ];
      await pass(test.store, first);
      const earlier: Served[] = [];
      let valid = 0;
      for (const [name, write] of Object.entries(WRITES)) {
        earlier.push({ state: await test.store.state(), infos: await infoByGroup(test.store) });
        await write(test.store);
        const now = await infoByGroup(test.store);
        for (const served of earlier) {
          const infos = await stillValid(test.store, served);
          valid += infos.size;
          expect(new Map([...infos.keys()].map((group) => [group, now.get(group)])), name).toEqual(infos);
        }
      }
      expect(valid).toBeGreaterThan(0);
    });

    it('names nothing if only the applied revision changed', async () => {
      await pass(test.store, [appStep('web', app('v1')), groupStep('edge', group('web'))]);
      const state = await test.store.state();
      await pass(test.store, [], 'r2');
      const changed = await test.store.changedForDevices(state);
      expect(changed?.length ?? 0).toBe(0);
    });
  });
}
