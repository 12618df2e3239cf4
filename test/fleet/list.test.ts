import { describe, expect, it } from 'vitest';
import { countDevices } from '../../src/fleet/counts.ts';
import { DEVICE_SORTS, type DevicePlace, listDevices } from '../../src/fleet/list.ts';
import { judge, type Known, missingOf } from '../../src/fleet/state.ts';
import type { DeviceSlot } from '../../src/store/devices/slot.ts';
import { servedOf } from '../../src/store/served.ts';

const NOW = 1_800_000_000_000;
const COUNT = 4500;
const lags = { of: async (_: string, __: string, order: number) => ({ since: order, revision: 'r' }) };

/** So many devices in no order: some are current, some behind, some silent. */
function known(...declared: string[]): Known {
  const slots = Array.from({ length: COUNT }, (_, index): DeviceSlot => {
    const place = (index * 7919) % COUNT;
    const at = NOW - (place % 10 === 0 ? 700_000 : (place * 31) % 50_000);
    const word = { fleet: 'abcd', order: place % 3 === 0 ? 7 : 9 };
    const half = { group: 'edge', access: null, foreignTag: null, fellAt: null, conflict: null };
    const poll = { ...half, at, word, since: at, instance: null, interval: 0 };
    return { name: `d-${String(place).padStart(4, '0')}`, poll, report: null };
  });
  const devices = declared.map((name) => ({ name, group: 'edge' }));
  const counters = [{ kind: 'app' as const, name: 'web', id: 1, changed: 9 }];
  const served = servedOf(
    { fleet: 'abcdef', revision: 'r' },
    { groups: [{ name: 'edge', apps: ['web'] }], devices },
    counters,
  );
  const listening = { since: 0, before: null };
  return {
    slots: new Map(slots.map((slot) => [slot.name, slot])),
    standard: { served, now: NOW, silentAfter: 600_000, listening },
  };
}

describe('listDevices', () => {
  it.each(DEVICE_SORTS)('by %s: the pages are the whole list, each device once', async (sort) => {
    const fleet = known();
    const whole = await listDevices({}, { sort, after: null }, COUNT, fleet, lags);
    expect(whole).toMatchObject({ next: null, total: COUNT });
    const values = whole.rows.map(({ device, since, last_seen }): [string, string] => [
      { name: '', since: since ?? '', last_seen: last_seen ?? '' }[sort],
      device,
    ]);
    expect(values).toEqual([...values].sort(([a, one], [b, other]) => (a + one < b + other ? -1 : 1)));
    const paged: string[] = [];
    for (let place: DevicePlace['after'] | undefined = null; place !== undefined; ) {
      const { rows, next, total } = await listDevices({}, { sort, after: place }, 700, fleet, lags);
      expect(total).toBe(COUNT);
      paged.push(...rows.map(({ device }) => device));
      place = next ?? undefined;
    }
    expect(paged).toEqual(whole.rows.map(({ device }) => device));
  });

  it('counts all that match, and pages among them alone', async () => {
    const page = await listDevices({ state: 'behind' }, { sort: 'name', after: null }, 2, known(), lags);
    const names = page.rows.map(({ device }) => device);
    expect(page.total).toBe(
      Array.from({ length: COUNT }).filter((_, n) => n % 3 === 0 && n % 10 !== 0).length,
    );
    expect(names).toEqual(['d-0003', 'd-0006']);
    expect(page.next).toEqual({ value: 0, name: 'd-0006' });
  });

  it('has devices with a file that were never seen, as expected, and counts them', async () => {
    const fleet = known('a-new', 'd-0001');
    const { rows, total } = await listDevices({}, { sort: 'name', after: null }, 2, fleet, lags);
    expect(rows).toMatchObject([
      {
        device: 'a-new',
        device_group: 'edge',
        declared: true,
        state: 'expected',
        since: null,
        last_seen: null,
        has: null,
      },
      { device: 'd-0000', declared: false },
    ]);
    expect(total).toBe(COUNT + 1);
    const { totals, groups } = countDevices(fleet, new Map());
    expect([totals.expected, groups[0]?.devices]).toEqual([1, COUNT + 1]);
    expect(
      await listDevices({ state: 'expected' }, { sort: 'since', after: null }, 2, fleet, lags),
    ).toMatchObject({
      rows: [{ device: 'a-new' }],
      total: 1,
    });
  });

  it('puts a device into the group of its file, and shows it as behind until it has that file', () => {
    const fleet = known();
    const { served } = fleet.standard;
    const at = (order: number, group: string) => {
      const poll = { ...fleet.slots.get('d-0002')!.poll!, group, word: { fleet: 'abcd', order } };
      const devices = new Map([['d-0002', { group: 'edge', changed: 12 }]]);
      const device = judge(
        { name: 'd-0002', poll, report: null },
        { ...fleet.standard, served: { ...served, devices } },
      );
      const missing = missingOf('d-0002', 'edge', device.order ?? 0, { ...served, devices });
      return [device.group, device.state, device.order, missing];
    };
    expect(at(12, 'edge')).toEqual(['edge', 'current', 12, []]);
    expect(at(9, 'edge')).toEqual(['edge', 'behind', 9, ['device/d-0002']]);
    expect(at(30, 'lab')).toEqual(['edge', 'behind', 11, ['device/d-0002']]);
  });
});
