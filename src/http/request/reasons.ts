/** How many problems are reported for each field. */
const MAX_REASONS = 20;

/** Joins reasons into one sentence. If there are too many, it has the first ones and the number of the rest. */
export function inOneSentence(messages: readonly string[]): string {
  const first = messages.slice(0, MAX_REASONS);
  const more = messages.length - first.length;
  return (more > 0 ? [...first, `and ${more} more`] : first).join('; ');
}

/** Returns the place of a problem in a field, as a prefix of the reason. `path` starts with the field, which is omitted. */
export function pathPrefix(path: readonly (string | number)[]): string {
  if (path.length < 2) return '';
  return `${path.slice(1).join('.') || '""'} `;
}
