import { describe, expect, it } from 'vitest';
import type { Known } from '../../src/fleet/fleet.ts';
import { DEVICE_SORTS, type DevicePlace, listDevices } from '../../src/fleet/list.ts';
import type { DeviceSlot } from '../../src/store/devices/slot.ts';
import { servedOf } from '../../src/store/served.ts';

const NOW = 1_800_000_000_000;
const COUNT = 4500;
const lags = { of: async (_: string, order: number) => ({ since: order, revision: 'r' }) };

/** So many devices in no order: some are current, some behind, some silent. */
function known(): Known {
  const slots = Array.from({ length: COUNT }, (_, index): DeviceSlot => {
    const place = (index * 7919) % COUNT;
    const at = NOW - (place % 10 === 0 ? 700_000 : (place * 31) % 50_000);
    const word = { fleet: 'abcd', order: place % 3 === 0 ? 7 : 9 };
    const half = { group: 'edge', access: null, foreignTag: null, fellAt: null, conflict: null };
    const poll = { ...half, at, word, since: at, instance: null, interval: 0 };
    return { name: `d-${String(place).padStart(4, '0')}`, poll, report: null };
  });
  const counters = [{ kind: 'app' as const, name: 'web', id: 1, changed: 9 }];
  const served = servedOf({ fleet: 'abcdef', revision: 'r' }, [{ name: 'edge', apps: ['web'] }], counters);
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
});
