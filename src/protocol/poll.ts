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
