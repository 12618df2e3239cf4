import { describe, expect, it } from 'vitest';
import {
  AT,
  app,
  appId,
  appStep,
  CONTEXT,
  everything,
  group,
  groupIds,
  groupStep,
  type OpenStore,
  operationsOf,
  pass,
  rejection,
  useStore,
} from './support.ts';

export function operationsContract(open: OpenStore): void {
  const test = useStore(open);

  describe('restartApp', () => {
    it('raises the app’s id by one, and returns the app', async () => {
      await pass(test.store, [appStep('web', app('nginx'))], 'r1');
      const restarted = await test.store.restartApp('web', CONTEXT);
      expect(restarted).toEqual(await test.store.object('app', 'web'));
      expect(restarted).toMatchObject({ value: { appId: 2, content: app('nginx') }, revision: 'r1' });
    });

    it('logs the actor, the time and the new id', async () => {
      await pass(test.store, [appStep('web', app('nginx'))]);
      await test.store.restartApp('web', CONTEXT);
      expect(await operationsOf(test.store)).toEqual([
        { ...CONTEXT, action: 'restart', name: 'web', ids: { web: 2 } },
      ]);
    });

    it('resolves to null, and changes nothing, if there is no such app', async () => {
      await pass(test.store, [groupStep('web', group())]);
      const before = await everything(test.store);
      expect(await test.store.restartApp('web', CONTEXT)).toBeNull();
      expect(await everything(test.store)).toEqual(before);
    });

    it('rejects as moved-on, and changes nothing, if the app does not have the expected id', async () => {
      await pass(test.store, [appStep('web', app('nginx'))]);
      const before = await everything(test.store);
      expect(await rejection(test.store.restartApp('web', CONTEXT, ['"2"']))).toBe('moved-on');
      expect(await everything(test.store)).toEqual(before);
      expect((await test.store.restartApp('web', CONTEXT, ['"1"']))?.value.appId).toBe(2);
      expect(await test.store.restartApp('nobody', CONTEXT, ['"1"'])).toBeNull();
    });

    it('succeeds for exactly one of many concurrent calls that expect the same id', async () => {
      await pass(test.store, [appStep('web', app('nginx'))]);
      const calls = Array.from({ length: 10 }, () =>
        rejection(test.store.restartApp('web', CONTEXT, ['"1"'])),
      );
      expect((await Promise.all(calls)).filter((outcome) => outcome === 'none')).toHaveLength(1);
      expect(await appId(test.store, 'web')).toBe(2);
    });

    it('assigns consecutive ids to many concurrent calls', async () => {
      await pass(test.store, [appStep('web', app('nginx'))]);
      const calls = Array.from({ length: 50 }, () => test.store.restartApp('web', CONTEXT));
      const ids = (await Promise.all(calls)).map((restarted) => restarted?.value.appId);
      expect(ids.sort((a, b) => a! - b!)).toEqual(Array.from({ length: 50 }, (_, index) => index + 2));
      expect(await operationsOf(test.store)).toHaveLength(50);
    });

    it('raises the id once for each call, and a concurrent pass raises it once more', async () => {
      await pass(test.store, [appStep('web', app('v1'))]);
      await Promise.all([
        test.store.restartApp('web', CONTEXT),
        pass(test.store, [appStep('web', app('v2'))]),
        test.store.restartApp('web', CONTEXT),
      ]);
      expect(await appId(test.store, 'web')).toBe(4);
    });
  });

  describe('pruneGroup', () => {
    it('raises only the prune id of the group, logs it, and returns the group', async () => {
      await pass(test.store, [groupStep('edge', group()), groupStep('lab', group())], 'r1');
      const pruned = await test.store.pruneGroup('edge', CONTEXT);
      expect(pruned).toEqual(await test.store.object('device_group', 'edge'));
      expect(await groupIds(test.store, 'edge')).toEqual([1, 2]);
      expect(await groupIds(test.store, 'lab')).toEqual([1, 1]);
      expect(await operationsOf(test.store)).toMatchObject([
        { ...CONTEXT, action: 'prune', name: 'edge', ids: { edge: 2 } },
      ]);
    });

    it('resolves to null, and changes nothing, if there is no such group', async () => {
      await pass(test.store, [appStep('edge', app('nginx'))]);
      const before = await everything(test.store);
      expect(await test.store.pruneGroup('edge', CONTEXT)).toBeNull();
      expect(await everything(test.store)).toEqual(before);
    });

    it('rejects as moved-on, and changes nothing, if the group does not have the expected id', async () => {
      await pass(test.store, [groupStep('edge', group())]);
      const before = await everything(test.store);
      expect(await rejection(test.store.pruneGroup('edge', CONTEXT, ['"2"']))).toBe('moved-on');
      expect(await everything(test.store)).toEqual(before);
      expect((await test.store.pruneGroup('edge', CONTEXT, ['"1"']))?.value.pruneId).toBe(2);
      expect((await test.store.pruneGroup('edge', CONTEXT, ['"1"']))?.value.pruneId).toBe(3);
      expect(await test.store.pruneGroup('nobody', CONTEXT, ['"1"'])).toBeNull();
    });

    it('rejects as moved-on, and changes nothing, if the group does not have the expected prune id', async () => {
      await pass(test.store, [groupStep('edge', group())]);
      const before = await everything(test.store);
      expect(await rejection(test.store.pruneGroup('edge', CONTEXT, ['"1-2"', '"2"']))).toBe('moved-on');
      expect(await everything(test.store)).toEqual(before);
      expect((await test.store.pruneGroup('edge', CONTEXT, ['"1-1"']))?.value.pruneId).toBe(2);
      expect(await rejection(test.store.pruneGroup('edge', CONTEXT, ['"1-1"']))).toBe('moved-on');
    });
  });

  describe('pruneAll', () => {
    it('raises the prune id of every group and logs it once', async () => {
      await pass(test.store, [
        groupStep('edge', group()),
        groupStep('lab', group()),
        groupStep('gone', group()),
      ]);
      await pass(test.store, [groupStep('gone', null)], 'r2');
      await test.store.pruneGroup('lab', CONTEXT);
      const pruned = await test.store.pruneAll({ actor: 'bob', requestId: 'req-2', at: AT + 1 });
      expect(pruned).toEqual({ value: { edge: 2, lab: 3 }, revision: 'r2' });
      expect(await groupIds(test.store, 'edge')).toEqual([1, 2]);
      expect(await groupIds(test.store, 'lab')).toEqual([1, 3]);
      const [entry] = await operationsOf(test.store);
      expect(entry).toMatchObject({
        actor: 'bob',
        action: 'prune-all',
        name: null,
        ids: { edge: 2, lab: 3 },
      });
    });

    it('resolves to no ids if there are no groups', async () => {
      expect(await test.store.pruneAll(CONTEXT)).toEqual({ value: {}, revision: null });
      expect((await test.store.state()).idSequence).toBe(0);
    });
  });

  describe('logOperation', () => {
    const reason = 'the till hangs';
    const entry = { ...CONTEXT, action: 'restart', name: 'web', ids: { web: 7 }, reason } as const;

    it('keeps an operation whose id a commit raised', async () => {
      await test.store.logOperation(entry);
      expect(await operationsOf(test.store)).toEqual([entry]);
      expect(await test.store.counters(0)).toEqual([]);
    });
  });

  describe('counters', () => {
    it('returns the counters that changed after an id sequence, and all after 0', async () => {
      await pass(test.store, [
        appStep('web', app('nginx')),
        appStep('db', app('pg')),
        groupStep('edge', group()),
      ]);
      const { idSequence } = await test.store.state();
      const keys = async (since: number) =>
        (await test.store.counters(since)).map(({ kind, name }) => `${kind}/${name}`).sort();
      expect(await keys(0)).toEqual(['app/db', 'app/web', 'device_group/edge', 'prune/edge']);
      expect(await keys(idSequence)).toEqual([]);
      await test.store.restartApp('web', CONTEXT);
      expect(await keys(idSequence)).toEqual(['app/web']);
      await test.store.pruneAll(CONTEXT);
      await pass(test.store, [appStep('db', null)]);
      expect(await keys(idSequence)).toEqual(['app/db', 'app/web', 'prune/edge']);
      expect((await test.store.state()).idSequence).toBe(idSequence + 3);
    });
  });
}
