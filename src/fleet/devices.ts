import { NAME_PATTERN } from '../protocol/name.ts';

/** The devices that poll this manager, as far as they say who they are. */
export interface Devices {
  /**
   * Counts a poll of a group. `name` is the name that the device sent; without a valid name, the poll is anonymous. Of
   * more than `DEVICES_MAX` names, those that polled longest ago are forgotten, since anybody who may poll can invent
   * names.
   */
  countPoll(group: string, name: string | undefined): void;
  /** Returns every group that was polled. A device belongs to the group that it polled last. */
  byGroup(): GroupPolls[];
}

export interface GroupPolls {
  group: string;
  /** How many devices have sent their names and polled in the last `RECENT` milliseconds. */
  devices: number;
  /** How many polls came without a valid name, since the start of the process. */
  anonymousPolls: number;
}

/** How many names are kept. */
export const DEVICES_MAX = 100_000;

/** How long after its last poll a device is counted, in milliseconds. */
export const RECENT = 600_000;

/** Names are forgotten in portions: to find the oldest entry of a map, V8 passes all that were deleted before it. */
const PORTION = 1000;

/** What is known about a device. */
interface Slot {
  group: string;
  polledAt: number;
}

/** `elapsed` is a monotonic clock, in milliseconds. */
export function createDevices(elapsed: () => number): Devices {
  /** In the order of the last polls, oldest first. */
  const slots = new Map<string, Slot>();
  const groups = new Map<string, GroupPolls>();

  const groupOf = (group: string): GroupPolls => {
    const known = groups.get(group);
    if (known !== undefined) return known;
    const created = { group, devices: 0, anonymousPolls: 0 };
    groups.set(group, created);
    return created;
  };
  const touch = (name: string, slot: Slot): void => {
    slots.delete(name);
    slots.set(name, slot);
  };
  const add = (name: string, slot: Slot): void => {
    if (slots.size >= DEVICES_MAX) forgetOldest();
    slots.set(name, slot);
  };
  const forgetOldest = (): void => {
    let left = PORTION;
    for (const name of slots.keys()) {
      if (left-- === 0) return;
      slots.delete(name);
    }
  };

  return {
    countPoll: (group, name) => {
      const slot = name === undefined ? undefined : slots.get(name);
      if (name === undefined || (slot === undefined && !NAME_PATTERN.test(name))) {
        groupOf(group).anonymousPolls += 1;
      } else if (slot === undefined) {
        add(name, { group, polledAt: elapsed() });
      } else {
        slot.group = group;
        slot.polledAt = elapsed();
        touch(name, slot);
      }
    },
    byGroup: () => {
      const since = elapsed() - RECENT;
      for (const group of groups.values()) group.devices = 0;
      for (const { group, polledAt } of slots.values()) if (polledAt >= since) groupOf(group).devices += 1;
      return [...groups.values()];
    },
  };
}
