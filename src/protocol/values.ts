/** A map of plain data, such as the fields of a file. */
export type Fields = Readonly<Record<string, unknown>>;

/** Whether a value of plain data is a map. */
export function isMapValue(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value is an empty list or map. */
export function isEmptyCollection(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isMapValue(value) && Object.keys(value).length === 0;
}

/**
 * Whether two values of plain data are equal. The order of a list counts, the order of a map's keys does not. A key that
 * only one side has is a difference. Equal contents mean the same to devices.
 */
export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => sameValue(item, b[index]));
  }
  if (!isMapValue(a) || !isMapValue(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameValue(a[key], b[key]))
  );
}

/** Whether lists and maps are nested more than this many levels deep in a value. Safe for any depth. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(levels - 1, item));
}
