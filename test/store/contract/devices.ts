import { describe, expect, it } from 'vitest';
import type { DeviceSlot, PolledHalf, ReportedHalf } from '../../../src/store/devices/slot.ts';
import { app, appStep, deviceStep, group, groupStep, type OpenStore, pass, useStore } from './support.ts';

const POLL: PolledHalf = {
  at: 1000,
  group: 'edge',
  access: 'shared',
  word: { fleet: 'abcd', order: 3 },
  since: 900,
  foreignTag: null,
  fellAt: null,
  conflict: null,
  instance: { id: 'aaaaaaaa', since: 800 },
  interval: 10_000,
};
const REPORT: ReportedHalf = {
  at: 1100,
  group: 'edge',
  word: null,
  since: 1100,
  failed: [{ app: 'web', error: 'no such image' }],
  failedSince: 1100,
  worker: '1.2.0',
  digest: '[]',
};

/** The promises of `DeviceStore`. */
export function devicesContract(open: OpenStore): void {
  describe('devices', () => {
    const test = useStore(open);
    const all = async (): Promise<DeviceSlot[]> => {
      const slots: DeviceSlot[] = [];
      await test.store.load((page) => void slots.push(...page));
      return slots.sort((a, b) => (a.name < b.name ? -1 : 1));
    };

    it('keeps slots and the latest report of each over a restart, and when devices were heard last', async () => {
      expect(await test.store.load(() => undefined)).toBeNull();
      const slots = [
        { name: 'pos-1', poll: POLL, report: REPORT },
        { name: 'pos-2', poll: POLL, report: null },
        { name: 'pos-3', poll: null, report: REPORT },
      ];
      await test.store.put(
        [{ slot: slots[0]!, report: '{"a":1}' }, { slot: slots[1]! }, { slot: slots[2]! }],
        5000,
      );
      await test.store.put([{ slot: slots[0]! }], 6000);
      await test.reopen();
      expect(await all()).toEqual(slots);
      expect(await test.store.load(() => undefined)).toBe(6000);
      expect(await test.store.latestReport('pos-1')).toBe('{"a":1}');
      expect(await test.store.latestReport('pos-2')).toBeNull();
    });

    it('replaces a slot and its report', async () => {
      const later = { ...POLL, at: 2000, group: 'lab' };
      await test.store.put([{ slot: { name: 'pos-1', poll: POLL, report: REPORT }, report: '1' }], 1);
      await test.store.put(
        [{ slot: { name: 'pos-1', poll: later, report: { ...REPORT, at: 1200 } }, report: '2' }],
        2,
      );
      expect(await all()).toEqual([{ name: 'pos-1', poll: later, report: { ...REPORT, at: 1200 } }]);
      expect(await test.store.latestReport('pos-1')).toBe('2');
    });

    it('forgets devices and their reports', async () => {
      await test.store.put([{ slot: { name: 'pos-1', poll: POLL, report: REPORT }, report: '1' }], 1);
      await test.store.drop(['pos-1', 'never-seen']);
      expect(await all()).toEqual([]);
      expect(await test.store.latestReport('pos-1')).toBeNull();
    });

    it('forgets a device that it is asked to forget, and keeps it again once it is heard', async () => {
      const slot = { name: 'pos-1', poll: POLL, report: REPORT };
      await test.store.put([{ slot, report: '1' }], 1);
      await test.store.forget('pos-1', 2000);
      await test.store.forget('never-seen', 2000);
      expect(await all()).toEqual([]);
      expect(await test.store.latestReport('pos-1')).toBeNull();
      await test.store.put([{ slot: { ...slot, report: null } }], 3000);
      expect(await all()).toEqual([{ ...slot, report: null }]);
      await test.store.forget('never-seen', 10_000_000);
      expect((await all()).length).toBe(1);
      expect(await test.store.load(() => undefined)).toBe(3000);
    });

    it('keeps as many as there are', async () => {
      const names = Array.from({ length: 4500 }, (_, index) => `d-${String(index).padStart(5, '0')}`);
      for (const from of [0, 1500, 3000])
        await test.store.put(
          names.slice(from, from + 1500).map((name) => ({ slot: { name, poll: POLL, report: null } })),
          1,
        );
      expect((await all()).map(({ name }) => name)).toEqual(names);
    });

    it('says what devices are served, and when each part of it changed last', async () => {
      const steps = [
        appStep('web', app('web:1')),
        appStep('db', app('db:1')),
        groupStep('edge', group('web')),
      ];
      await pass(test.store, steps, 'r1');
      const before = await test.store.served();
      expect(before).toMatchObject({ fleet: (await test.store.state()).fleet, revision: 'r1' });
      expect([...before.groups.keys()]).toEqual(['edge']);
      expect([...before.apps.keys()].sort()).toEqual(['db', 'web']);
      expect(before.groups.get('edge')?.order).toBe((await test.store.groupInfo('edge'))?.idSequence);
      await pass(test.store, [appStep('web', app('web:2'))], 'r2');
      const after = await test.store.served();
      const edge = after.groups.get('edge');
      expect(edge).toMatchObject({ apps: ['web'], changed: before.groups.get('edge')?.changed });
      expect(edge?.order).toBe((await test.store.groupInfo('edge'))?.idSequence);
      expect(after.apps.get('web')).toMatchObject({ changed: edge?.order });
      await test.store.pruneGroup('edge', { actor: 'ana', requestId: 'r', at: 1 });
      const pruned = (await test.store.served()).groups.get('edge');
      expect(pruned?.order).toBe(pruned?.pruned);
      expect(pruned?.order).toBeGreaterThan(edge?.order ?? 0);
    });

    it('says which devices have a file, the group in it, and when that changed last', async () => {
      await pass(test.store, [groupStep('edge', group()), groupStep('lab', group())]);
      await pass(test.store, [
        deviceStep('pos-1', { device_group: 'edge', variables: { TILL: '7' } }),
        deviceStep('pos-2', { variables: {} }),
      ]);
      const before = await test.store.served();
      expect([...before.devices.keys()].sort()).toEqual(['pos-1', 'pos-2']);
      expect(before.devices.get('pos-2')?.group).toBeNull();
      await pass(test.store, [
        deviceStep('pos-1', { device_group: 'lab', variables: {} }),
        deviceStep('pos-2', null),
      ]);
      await test.reopen();
      const after = await test.store.served();
      expect([...after.devices]).toEqual([['pos-1', { group: 'lab', changed: expect.any(Number) }]]);
      expect(after.devices.get('pos-1')?.changed).toBeGreaterThan(before.devices.get('pos-1')?.changed ?? 0);
      expect(after.groups.get('edge')).toEqual(before.groups.get('edge'));
      const stored = (await test.store.object('device', 'pos-1')).value;
      expect(stored).toMatchObject({ deviceId: 2, content: { device_group: 'lab', variables: {} } });
      expect((await test.store.counters(0)).map(({ kind, name, last }) => `${kind}/${name} ${last}`)).toEqual(
        expect.arrayContaining(['device/pos-1 2', 'device/pos-2 1']),
      );
    });
  });
}
