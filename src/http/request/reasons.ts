/** Problems of one field that are told; more of them tell no more. */
const MAX_REASONS = 20;

/** The first of many reasons. */
export function inOneSentence(messages: readonly string[]): string {
  const told = messages.slice(0, MAX_REASONS);
  const more = messages.length - told.length;
  return (more > 0 ? [...told, `and ${more} more`] : told).join('; ');
}

/**
 * Where in a field something is wrong, before the reason; nothing where it is the field itself. `path` begins with the
 * field.
 */
export function within(path: readonly (string | number)[]): string {
  if (path.length < 2) return '';
  return `${path.slice(1).join('.') || '""'} `;
}
