import { hash } from 'node:crypto';
import { parseKey } from '../../protocol/name.ts';
import { parsePollTag, pollTag } from '../../protocol/poll.ts';
import type { DeviceInfo, DeviceReads } from '../../store/objects/port.ts';
import type { InfoCache } from './cache.ts';
import type { InfoEntry } from './entries.ts';

/** A ready-made reply to the polls of one device: that of its group, with a member more. */
export interface DeviceEntry {
  /** The reply of the group. */
  base: InfoEntry;
  /** What its body has in place of the last byte. */
  tail: Buffer;
  etag: string;
}

/** The replies to polls of single devices. `asked` is the group of a device that has none in its file. */
export interface DeviceInfos {
  /** Resolves to what the file of a device says; null if it has none. Rejects if the store fails and did not say it before. */
  read(name: string): Promise<DeviceInfo | null>;
  /** Returns the reply for a device of this group. */
  entry(name: string, device: DeviceInfo | null, base: InfoEntry): DeviceEntry;
  /** Returns the cached reply for a device; null if there is none, or if it is too old. */
  ready(name: string, asked: string | undefined): DeviceEntry | null;
  /** Announces a change of the objects with these keys, or of all if null. */
  invalidate(keys: Iterable<string> | null): void;
}

interface Remembered {
  device: DeviceInfo | null;
  entry: DeviceEntry | null;
  isStale: boolean;
  epoch: number;
}

/** The most devices that are remembered: whoever may poll can invent names. */
const MOST = 200_000;

/** What the replies are made from. */
interface DeviceInfoParts {
  store: Pick<DeviceReads, 'deviceInfo'>;
  info: Pick<InfoCache, 'ready'>;
  /** Resolves when a device has waited for the store long enough. */
  storeTimeout(): Promise<void>;
}

export function createDeviceInfos({ store, info, storeTimeout }: DeviceInfoParts): DeviceInfos {
  const known = new Map<string, Remembered>();
  let epoch = 0;

  const readStore = async (name: string): Promise<DeviceInfo | null> => {
    const before = epoch;
    const device = await store.deviceInfo(name);
    if (known.size >= MOST) known.clear();
    // What was read before a change must not replace what was read after it.
    if ((known.get(name)?.epoch ?? 0) <= before)
      known.set(name, { device, entry: null, isStale: before !== epoch, epoch: before });
    return device;
  };

  const entry = (name: string, device: DeviceInfo | null, base: InfoEntry): DeviceEntry => {
    const remembered = known.get(name);
    if (remembered?.device !== device) return makeEntry(name, device, base);
    if (remembered.entry?.base !== base) remembered.entry = makeEntry(name, device, base);
    return remembered.entry;
  };

  return {
    entry,
    read: (name) => {
      const last = known.get(name);
      const reading = readStore(name);
      if (last === undefined) return reading;
      return Promise.race([reading.catch(() => last.device), storeTimeout().then(() => last.device)]);
    },
    ready: (name, asked) => {
      const remembered = known.get(name);
      if (remembered === undefined || remembered.isStale) return null;
      const group = remembered.device?.group ?? asked;
      const base = group === undefined ? null : info.ready(group);
      return base && entry(name, remembered.device, base);
    },
    invalidate: (keys) => {
      epoch += 1;
      const names = keys === null ? known.keys() : deviceNames(keys);
      for (const name of names) {
        const remembered = known.get(name);
        if (remembered !== undefined) remembered.isStale = true;
      }
    },
  };
}

function deviceNames(keys: Iterable<string>): string[] {
  return Array.from(keys, parseKey).flatMap(({ kind, name }) => (kind === 'device' ? [name] : []));
}

/** The order is that of the group or of the file, whichever changed later. */
function makeEntry(name: string, device: DeviceInfo | null, base: InfoEntry): DeviceEntry {
  const variables = device?.variables ?? {};
  const member = JSON.stringify({ name, device_group: base.group, variables });
  const tail = Buffer.from(`,"device":${member}}`);
  const { fleet, order } = parsePollTag(base.etag) ?? { fleet: '', order: 0 };
  const digest = hash('sha256', base.etag + tail.toString(), 'base64url').slice(0, 27);
  const etag = pollTag(fleet, Math.max(order, device?.changed ?? 0), digest);
  return { base, tail, etag };
}

/** Returns the body of a reply. */
export function bodyOfDevice({ base, tail }: DeviceEntry): Buffer {
  return Buffer.concat([base.body.subarray(0, -1), tail]);
}
