/** The request header in which a device sends its name (`NAME_PATTERN`). */
export const DEVICE_HEADER = 'holdfast-device';

/** The header of replies to polls that names the group: a device can notice a reply that is meant for others. */
export const GROUP_HEADER = 'holdfast-device-group';

/**
 * Returns the ETag of a reply to a poll, with its quotes (docs/decisions/0021-order-in-the-etag.md). `fleet` is the fleet
 * id, in hexadecimal digits. `order` rises with each change that the reply shows, so that two tags of one fleet can be
 * compared.
 */
export function pollTag(fleet: string, order: number, bodyHash: string): string {
  return `"${fleet.slice(0, 4)}.${order}-${bodyHash}"`;
}

/** The request header with the random number of a worker, by which two workers of one name are told apart. */
export const INSTANCE_HEADER = 'holdfast-instance';

/** The header of replies to a worker whose name another one holds: the number of that one. */
export const CONFLICT_HEADER = 'holdfast-conflict';

/** The header of replies to a device that somebody has asked something: how many asks wait. */
export const ASKS_HEADER = 'holdfast-asks';

/** What a tag of `pollTag` says. */
export interface PollTag {
  /** The first four digits of the fleet id. */
  fleet: string;
  order: number;
}

/** A proxy can have made the tag weak. */
const POLL_TAG = /^(?:W\/)?"([0-9a-f]{4})\.(\d{1,15})-[\w-]{1,64}"$/;

/** Returns what a tag says; null if `pollTag` cannot have returned it. */
export function parsePollTag(tag: string): PollTag | null {
  const [, fleet, order] = POLL_TAG.exec(tag) ?? [];
  return fleet === undefined ? null : { fleet, order: Number(order) };
}

/** Returns the last tag of `If-None-Match`: the one that the device has (docs/decisions/0021-order-in-the-etag.md). */
export function lastTag(ifNoneMatch: string): string {
  return ifNoneMatch.slice(ifNoneMatch.lastIndexOf(',') + 1).trim();
}
