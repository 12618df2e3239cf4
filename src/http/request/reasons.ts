/** How many problems of one field are reported. */
const MAX_REASONS = 20;

/** Joins reasons; of many, the first ones and how many more there are. */
export function inOneSentence(messages: readonly string[]): string {
  const told = messages.slice(0, MAX_REASONS);
  const more = messages.length - told.length;
  return (more > 0 ? [...told, `and ${more} more`] : told).join('; ');
}

/** Where in a field something is wrong, as a prefix of the reason. `path` begins with the field, which is left out. */
export function pathPrefix(path: readonly (string | number)[]): string {
  if (path.length < 2) return '';
  return `${path.slice(1).join('.') || '""'} `;
}
