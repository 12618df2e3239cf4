import { describe, expect, it } from 'vitest';
import type { Step } from '../../../src/plan/step.ts';
import {
  AT,
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
  useStore,
} from './support.ts';

export function applyContract(open: OpenStore): void {
  const test = useStore(open);

  describe('apply', () => {
    it('assigns the id 1 to a new name', async () => {
      const given = await pass(test.store, [appStep('web', app('nginx')), groupStep('edge', group('web'))]);
      expect(given).toEqual([
        { kind: 'app', name: 'web', id: 1 },
        { kind: 'device_group', name: 'edge', id: 1 },
      ]);
      expect(await appId(test.store, 'web')).toBe(1);
      expect(await groupIds(test.store, 'edge')).toEqual([1, 1]);
    });

    it('raises the id of an updated object by one, and no other id', async () => {
      await pass(test.store, [
        appStep('web', app('nginx')),
        appStep('db', app('pg')),
        groupStep('edge', group('web')),
      ]);
      const given = await pass(test.store, [appStep('web', app('nginx:2'))]);
      expect(given).toEqual([{ kind: 'app', name: 'web', id: 2 }]);
      expect(await appId(test.store, 'db')).toBe(1);
      expect(await groupIds(test.store, 'edge')).toEqual([1, 1]);
    });

    it('keeps the prune id of a group that is updated', async () => {
      await pass(test.store, [groupStep('edge', group())]);
      await test.store.pruneGroup('edge', CONTEXT);
      await pass(test.store, [appStep('web', app('nginx')), groupStep('edge', group('web'))]);
      expect(await groupIds(test.store, 'edge')).toEqual([2, 2]);
    });

    it('keeps the _id of an object until it is deleted', async () => {
      const oidOf = async () => (await test.store.object('app', 'web')).value?.oid;
      await pass(test.store, [appStep('web', app('nginx'))]);
      const first = await oidOf();
      expect(first).toMatch(/^[0-9a-f]{24}$/);
      await pass(test.store, [appStep('web', app('nginx:2'))]);
      expect(await oidOf()).toBe(first);
      await pass(test.store, [appStep('web', null)]);
      await pass(test.store, [appStep('web', app('nginx:2'))]);
      expect(await oidOf()).not.toBe(first);
    });

    it('assigns ids above all earlier ones to an object that is created again', async () => {
      await pass(test.store, [appStep('web', app('nginx')), groupStep('edge', group())]);
      await test.store.restartApp('web', CONTEXT);
      await test.store.pruneGroup('edge', CONTEXT);
      await test.store.pruneGroup('edge', CONTEXT);
      await pass(test.store, [groupStep('edge', null), appStep('web', null)]);
      expect(await pass(test.store, [appStep('web', app('nginx')), groupStep('edge', group())])).toEqual([
        { kind: 'app', name: 'web', id: 3 },
        { kind: 'device_group', name: 'edge', id: 2 },
      ]);
      expect(await groupIds(test.store, 'edge')).toEqual([2, 4]);
    });

    it('counts the ids of an app and a group with the same name separately', async () => {
      await pass(test.store, [appStep('same', app('nginx')), groupStep('same', group())]);
      await pass(test.store, [appStep('same', app('nginx:2'))]);
      expect(await appId(test.store, 'same')).toBe(2);
      expect(await groupIds(test.store, 'same')).toEqual([1, 1]);
    });

    it('removes a deleted object and keeps its counters', async () => {
      await pass(test.store, [appStep('web', app('nginx')), groupStep('edge', group('web'))]);
      expect(await pass(test.store, [groupStep('edge', null), appStep('web', null)])).toEqual([]);
      expect((await test.store.object('app', 'web')).value).toBeNull();
      expect((await test.store.object('device_group', 'edge')).value).toBeNull();
      expect(await counterOf(test.store, 'app', 'web')).toEqual({
        kind: 'app',
        name: 'web',
        last: 1,
        hash: null,
      });
      expect(await counterOf(test.store, 'prune', 'edge')).toMatchObject({ last: 1 });
    });

    it('raises no id for a content that is already stored, even with its keys in another order', async () => {
      const env = { A: '1', B: '2' };
      await pass(test.store, [
        appStep('web', app('nginx', { env_vars: env })),
        groupStep('edge', group('web')),
      ]);
      const { idSequence } = await test.store.state();
      const reordered = app('nginx', { env_vars: { B: '2', A: '1' } });
      const reversed = Object.fromEntries(Object.entries(reordered).reverse()) as typeof reordered;
      expect(await pass(test.store, [appStep('web', reversed), groupStep('edge', group('web'))])).toEqual([]);
      expect(await appId(test.store, 'web')).toBe(1);
      expect((await test.store.state()).idSequence).toBe(idSequence);
    });

    it('raises the id if the order of a list changes', async () => {
      await pass(test.store, [groupStep('edge', group('a', 'b'))]);
      expect(await pass(test.store, [groupStep('edge', group('b', 'a'))])).toMatchObject([{ id: 2 }]);
    });

    it('changes nothing if the same batch is applied again, even after a restart of the manager', async () => {
      await pass(test.store, [
        appStep('old', app('x')),
        appStep('web', app('nginx')),
        groupStep('gone', group()),
      ]);
      const steps: Step[] = [
        appStep('web', app('nginx:2')),
        appStep('new', app('y')),
        groupStep('edge', group('web', 'new')),
        groupStep('gone', null),
        appStep('old', null),
      ];
      const sequence = await test.store.claimHead(1, 'r2', AT);
      const batch = { revision: 'r2', sequence, at: AT, steps, origins: [], rules: 'r1' };
      await test.store.apply(batch);
      const after = await everything(test.store);
      expect(await test.store.apply(batch)).toEqual([]);
      expect(await everything(test.store)).toEqual(after);
      expect(await everything(await test.reopen())).toEqual(after);
      expect(await test.store.apply(batch)).toEqual([]);
      expect(await everything(test.store)).toEqual(after);
    });

    it('keeps the id that a restart of the app gave if the same batch is applied again', async () => {
      const steps = [appStep('web', app('nginx'))];
      await pass(test.store, steps, 'r1');
      await test.store.restartApp('web', CONTEXT);
      await test.store.apply({ revision: 'r1', sequence: 1, at: AT, steps, origins: [], rules: 'r1' });
      expect(await appId(test.store, 'web')).toBe(2);
    });

    it('reports the number of completed steps after each step', async () => {
      const reported: number[] = [];
      const sequence = await test.store.claimHead(0, 'r1', AT);
      const steps = [appStep('web', app('nginx')), groupStep('edge', group('web')), appStep('gone', null)];
      const batch = { revision: 'r1', sequence, at: AT, steps, origins: [], rules: 'r1' };
      await test.store.apply({ ...batch, onStep: (done) => void reported.push(done) });
      expect(reported).toEqual([1, 2, 3]);
    });

    it('sets the applied revision and its time', async () => {
      await pass(test.store, [], 'r1');
      expect((await test.store.state()).applied).toEqual({ revision: 'r1', at: AT });
    });

    it('rejects as conflict, and changes nothing, when the sequence is not the store’s', async () => {
      await pass(test.store, [appStep('web', app('nginx'))], 'r1');
      await test.store.claimHead(1, 'r2', AT);
      const before = await everything(test.store);
      for (const sequence of [0, 1, 3]) {
        const batch = {
          revision: 'r9',
          sequence,
          at: AT,
          steps: [appStep('web', null)],
          origins: [],
          rules: 'r1',
        };
        expect(await rejection(test.store.apply(batch))).toBe('conflict');
      }
      expect(await everything(test.store)).toEqual(before);
    });

    it('records the file of each object, and updates it if only the file has changed', async () => {
      const from = { path: 'apps/web.yaml', blob: 'aa' };
      const to = { path: 'apps/team/web.yaml', blob: 'bb' };
      await pass(test.store, [appStep('web', app('nginx'), from), groupStep('edge', group('web'), null)]);
      const [edge] = (await test.store.appliedObjects()).filter(({ kind }) => kind === 'device_group');
      expect(edge).toEqual({ kind: 'device_group', name: 'edge', origin: null, content: group('web') });
      const origins = [
        { kind: 'app', name: 'web', origin: to },
        { kind: 'device_group', name: 'edge', origin: from },
        { kind: 'app', name: 'nobody', origin: from },
      ] as const;
      const sequence = await test.store.claimHead(1, 'r2', AT);
      expect(
        await test.store.apply({ revision: 'r2', sequence, at: AT, steps: [], origins, rules: 'r1' }),
      ).toEqual([]);
      const objects = await test.store.appliedObjects();
      expect(objects.find(({ kind }) => kind === 'app')).toEqual({
        kind: 'app',
        name: 'web',
        origin: to,
        content: app('nginx'),
      });
      expect(objects.find(({ kind }) => kind === 'device_group')?.origin).toEqual(from);
      expect(objects).toHaveLength(2);
      expect(await appId(test.store, 'web')).toBe(1);
    });

    it('updates the file of an object by a step whose content is already stored', async () => {
      const origin = { path: 'apps/team/web.yaml', blob: 'cc' };
      await pass(test.store, [appStep('web', app('nginx'))]);
      await pass(test.store, [appStep('web', app('nginx'), origin)]);
      expect(await test.store.appliedObjects()).toMatchObject([{ name: 'web', origin }]);
    });

    it('ignores the delete of an object that is not stored', async () => {
      await pass(test.store, [appStep('web', null), groupStep('edge', null)]);
      expect(await test.store.counters(0)).toEqual([]);
      expect((await test.store.state()).idSequence).toBe(0);
    });

    it('applies concurrent batches one after another, each completely', async () => {
      const sequence = await test.store.claimHead(0, 'r1', AT);
      const batchOf = (image: string) => ({
        revision: 'r1',
        sequence,
        at: AT,
        steps: Array.from({ length: 20 }, (_, index) => appStep(`app-${index}`, app(image))),
        origins: [],
        rules: 'r1',
      });
      await Promise.all(['a', 'b', 'c'].map((image) => test.store.apply(batchOf(image))));
      const apps = await Promise.all(
        Array.from({ length: 20 }, (_, index) => test.store.object('app', `app-${index}`)),
      );
      expect(new Set(apps.map(({ value }) => value?.appId))).toEqual(new Set([3]));
      expect(new Set(apps.map(({ value }) => value?.content.container_image)).size).toBe(1);
    });
  });
}
