import { describe, expect, it } from 'vitest';
import { createDevices, DEVICES_MAX, RECENT } from '../../src/fleet/devices.ts';

function openDevices() {
  const clock = { now: 0 };
  const devices = createDevices(() => clock.now);
  /** How many devices each group has. */
  const counts = () => Object.fromEntries(devices.byGroup().map(({ group, devices }) => [group, devices]));
  return { clock, devices, counts };
}

describe('createDevices', () => {
  it('counts each name once, for the group that it polled last', () => {
    const { devices, counts } = openDevices();
    for (const name of ['a', 'b', 'a']) devices.countPoll('edge', name);
    devices.countPoll('lab', 'b');
    expect(counts()).toEqual({ edge: 1, lab: 1 });
  });

  it('stops counting a device ten minutes after its last poll', () => {
    const { clock, devices, counts } = openDevices();
    devices.countPoll('edge', 'a');
    devices.countPoll('edge', 'b');
    clock.now = RECENT;
    devices.countPoll('edge', 'a');
    expect(counts()).toEqual({ edge: 2 });
    clock.now += 1;
    expect(counts()).toEqual({ edge: 1 });
    clock.now += RECENT;
    expect(counts()).toEqual({ edge: 0 });
  });

  it.each([[undefined], [''], ['.a'], ['a b'], ['a,b'], ['ä'], ['a'.repeat(129)]])(
    'counts a poll as anonymous with the name %j',
    (name) => {
      const { devices } = openDevices();
      devices.countPoll('edge', name);
      devices.countPoll('edge', name);
      expect(devices.byGroup()).toEqual([{ group: 'edge', devices: 0, anonymousPolls: 2 }]);
    },
  );

  it('keeps at most DEVICES_MAX names, and forgets those that polled longest ago', () => {
    const { devices, counts } = openDevices();
    devices.countPoll('edge', 'steady');
    devices.countPoll('edge', 'gone');
    for (let index = 0; index < 2 * DEVICES_MAX; index += 1) {
      devices.countPoll('lab', `invented-${index}`);
      if (index % 1000 === 0) devices.countPoll('edge', 'steady');
    }
    const { edge = 0, lab = 0 } = counts();
    expect(edge).toBe(1);
    expect(edge + lab).toBeLessThanOrEqual(DEVICES_MAX);
    expect(edge + lab).toBeGreaterThan(0.98 * DEVICES_MAX);
  });
});
