import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/objects/port.ts';
import {
  app,
  appStep,
  CONTEXT,
  group,
  groupStep,
  type OpenStore,
  operationsOf,
  pass,
  rejection,
  seed,
  useStore,
} from './support.ts';

/** Valid names that are traps for objects used as maps, for SQL, for paths and for sorting. */
const NAMES = [
  'constructor',
  'toString',
  'hasOwnProperty',
  'valueOf',
  '0',
  '10',
  '9',
  'a.b',
  'A',
  'a',
  'x__proto__',
]
  .concat(['z'.repeat(128), 'select', 'null', 'a-b', 'a_b', '1e3', '007'])
  .sort();

export function readsContract(open: OpenStore): void {
  const test = useStore(open);

  describe('reads of objects', () => {
    it('find nothing in an empty store', async () => {
      expect(await test.store.names('app')).toEqual({ value: [], revision: null });
      expect(await test.store.names('device_group')).toEqual({ value: [], revision: null });
      expect(await test.store.object('app', 'web')).toEqual({ value: null, revision: null });
      expect(await test.store.object('device_group', 'edge')).toEqual({ value: null, revision: null });
      expect(await test.store.groupInfo('edge')).toBeNull();
      expect(await test.store.appliedObjects()).toEqual([]);
      expect(await test.store.counters(0)).toEqual([]);
      expect(await operationsOf(test.store)).toEqual([]);
    });

    it('return every field of an object, and the applied revision', async () => {
      const content = app('nginx', {
        starting_ports: [80, { '8080': '80' }],
        containers_per: { cpu: 0.5, memory: 2 },
        running: false,
      });
      await pass(test.store, [appStep('web', content), groupStep('edge', group('web'))], 'r1');
      const { oid, ...rest } = (await test.store.object('app', 'web')).value!;
      expect(rest).toEqual({ kind: 'app', name: 'web', appId: 1, content });
      expect(oid).toMatch(/^[0-9a-f]{24}$/);
      const { value, revision } = await test.store.object('device_group', 'edge');
      expect(value).toMatchObject({
        kind: 'device_group',
        name: 'edge',
        deviceGroupId: 1,
        pruneId: 1,
        content: group('web'),
      });
      expect(revision).toBe('r1');
    });

    it('return the applied revision even if they find nothing', async () => {
      await pass(test.store, [], 'r1');
      expect(await test.store.object('app', 'web')).toEqual({ value: null, revision: 'r1' });
      expect(await test.store.object('device_group', 'edge')).toEqual({ value: null, revision: 'r1' });
      expect(await test.store.names('app')).toEqual({ value: [], revision: 'r1' });
      expect(await test.store.names('device_group')).toEqual({ value: [], revision: 'r1' });
    });

    it('return every character of a content', async () => {
      const text = 'ü 漢字 🚀 "quotes" \\ back\u2028 line\n\ttab \u0001 {"$oid": 1} \'; DROP TABLE apps; --';
      const content = app('nginx:ü', { env_vars: { [text]: text, constructor: 'x', '10': 'b', '9': 'a' } });
      await pass(test.store, [appStep('web', content)]);
      const store = await test.reopen();
      expect((await store.object('app', 'web')).value?.content).toEqual(content);
    });

    it('return contents of hundreds of kilobytes', async () => {
      const content = app('nginx', { env_vars: { BIG: 'ä'.repeat(200_000) } });
      await pass(test.store, [appStep('web', content)]);
      expect((await test.store.object('app', 'web')).value?.content).toEqual(content);
    });

    it('list names in ascending order', async () => {
      const shuffled = NAMES.map((_, index) => NAMES[(index * 7) % NAMES.length]!);
      const steps = shuffled.flatMap((name) => [appStep(name, app('nginx')), groupStep(name, group(name))]);
      await pass(test.store, steps);
      expect((await test.store.names('app')).value).toEqual(NAMES);
      expect((await test.store.names('device_group')).value).toEqual(NAMES);
    });

    it.each(NAMES)('work for the name %s', async (name) => {
      await pass(test.store, [appStep(name, app('nginx')), groupStep(name, group(name))]);
      expect((await test.store.object('app', name)).value?.name).toBe(name);
      expect((await test.store.groupInfo(name))?.apps.map((member) => member.name)).toEqual([name]);
      expect((await test.store.restartApp(name, CONTEXT))?.value.appId).toBe(2);
      expect(Object.entries((await test.store.pruneAll(CONTEXT)).value)).toEqual([[name, 2]]);
      const [pruned] = await operationsOf(test.store);
      expect(Object.entries(pruned!.ids)).toEqual([[name, 2]]);
    });

    it('distinguish names by case', async () => {
      await pass(test.store, [appStep('web', app('a')), appStep('Web', app('b'))]);
      expect((await test.store.object('app', 'Web')).value?.content.container_image).toBe('b');
      expect((await test.store.object('app', 'WEB')).value).toBeNull();
    });
  });

  describe('groupInfo', () => {
    it('returns the group, and its apps in the order of its list', async () => {
      const names = ['c', 'a', 'b'];
      const steps = names.map((name) => appStep(name, app(`image-${name}`)));
      await pass(
        test.store,
        [...steps, appStep('other', app('x')), groupStep('edge', group(...names))],
        'r1',
      );
      const info = await test.store.groupInfo('edge');
      expect(info?.group).toEqual((await test.store.object('device_group', 'edge')).value);
      expect(info?.apps).toEqual(
        await Promise.all(names.map(async (name) => (await test.store.object('app', name)).value)),
      );
      expect(info?.revision).toBe('r1');
    });

    it('returns an empty list for a group without apps', async () => {
      await pass(test.store, [groupStep('edge', group())]);
      expect((await test.store.groupInfo('edge'))?.apps).toEqual([]);
    });

    it('returns raised ids at once', async () => {
      await pass(test.store, [appStep('web', app('nginx')), groupStep('edge', group('web'))]);
      await test.store.restartApp('web', CONTEXT);
      await test.store.pruneGroup('edge', CONTEXT);
      const info = await test.store.groupInfo('edge');
      expect(info?.apps[0]?.appId).toBe(2);
      expect(info?.group.pruneId).toBe(2);
    });

    describe('with the id sequence', () => {
      /** Each changes what devices of `edge` are served, which has the apps `web` and `db`. */
      const CHANGES: [string, (store: Store) => Promise<unknown>][] = [
        ['an update of an app', (store) => pass(store, [appStep('db', app('pg:2'))])],
        ['a restart of an app', (store) => store.restartApp('web', CONTEXT)],
        ['an app that joins', (store) => pass(store, [groupStep('edge', group('web', 'db', 'old'))])],
        ['an app that leaves', (store) => pass(store, [groupStep('edge', group('web'))])],
        ['a prune of the group', (store) => store.pruneGroup('edge', CONTEXT)],
        ['a prune of all groups', (store) => store.pruneAll(CONTEXT)],
        [
          'a group that is created again',
          async (store) => {
            await pass(store, [groupStep('edge', null)]);
            await pass(store, [groupStep('edge', group('old'))]);
          },
        ],
        ['a seeding', (store) => seed(store, { seeds: [], idSequence: 70 })],
      ];

      beforeEach(async () => {
        await pass(test.store, [appStep('old', app('x')), groupStep('lab', group('old'))]);
        await pass(test.store, [appStep('web', app('nginx')), appStep('db', app('pg'))]);
        await pass(test.store, [groupStep('edge', group('web', 'db'))]);
      });

      it.each(CHANGES)('of the latest change that it shows: %s', async (_, change) => {
        const { idSequence: before } = (await test.store.groupInfo('edge'))!;
        await change(test.store);
        const info = (await test.store.groupInfo('edge'))!;
        expect(info.idSequence).toBeGreaterThan(before);
        expect(info.idSequence).toBe((await test.store.state()).idSequence);
      });

      it('of its own changes alone', async () => {
        const before = await test.store.groupInfo('edge');
        await pass(test.store, [appStep('old', app('x:2')), groupStep('lab', group('old', 'web'))]);
        await test.store.restartApp('old', CONTEXT);
        await test.store.pruneGroup('lab', CONTEXT);
        expect((await test.store.groupInfo('edge'))?.idSequence).toBe(before?.idSequence);
      });

      it('that it had before a restart of the manager, and the fleet', async () => {
        for (const [, change] of CHANGES) await change(test.store);
        const infos = await Promise.all(['edge', 'lab'].map((name) => test.store.groupInfo(name)));
        const { fleet } = await test.store.state();
        expect(infos.map((info) => info?.fleet)).toEqual([fleet, fleet]);
        const store = await test.reopen();
        expect(await Promise.all(['edge', 'lab'].map((name) => store.groupInfo(name)))).toEqual(infos);
      });
    });

    it('rejects as unavailable while an app of its list is not stored', async () => {
      await pass(test.store, [appStep('web', app('nginx')), groupStep('edge', group('web', 'db'))]);
      expect(await rejection(test.store.groupInfo('edge'))).toBe('unavailable');
      await pass(test.store, [appStep('db', app('pg'))]);
      expect((await test.store.groupInfo('edge'))?.apps).toHaveLength(2);
    });

    it('never returns a part of a pass', async () => {
      const names = Array.from({ length: 30 }, (_, index) => `app-${index}`);
      const steps = (image: string) => names.map((name) => appStep(name, app(image)));
      await pass(test.store, [...steps('v1'), groupStep('edge', group(...names))], 'v1');
      let isDone = false;
      const passes = (async () => {
        for (const version of ['v2', 'v3', 'v4', 'v5']) await pass(test.store, steps(version), version);
      })().finally(() => {
        isDone = true;
      });
      while (!isDone) {
        await setImmediate();
        const info = await test.store.groupInfo('edge');
        const images = new Set(info?.apps.map(({ content }) => content.container_image));
        expect(images).toEqual(new Set([info?.revision]));
      }
      await passes;
    });
  });

  describe('appliedObjects', () => {
    it('returns all applied objects, and no deleted one', async () => {
      const origin = { path: 'apps/web.yaml', blob: 'aa' };
      await pass(test.store, [appStep('web', app('nginx'), origin), groupStep('edge', group('web'), origin)]);
      await pass(test.store, [appStep('gone', app('x'))]);
      await pass(test.store, [appStep('gone', null)]);
      const objects = await test.store.appliedObjects();
      expect(objects.sort((a, b) => (a.kind < b.kind ? -1 : 1))).toEqual([
        { kind: 'app', name: 'web', origin, content: app('nginx') },
        { kind: 'device_group', name: 'edge', origin, content: group('web') },
      ]);
    });
  });
}
