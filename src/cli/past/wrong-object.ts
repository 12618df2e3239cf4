import { DESCRIPTORS } from '../../desired/kinds.ts';
import { HoldfastError } from '../../errors.ts';
import { KINDS, keyOf, type ObjectKey, parseKey } from '../../protocol/name.ts';
import { closestName } from '../../suggest.ts';

/** Returns the error of an object that never was, with the one that was probably meant, of those with these keys. */
export function neverWas(key: string, keys: Iterable<string>, place: string): HoldfastError<'absent'> {
  const { kind, name } = parseKey(key);
  return new HoldfastError('absent', `${place} has no ${key}${meantHint({ kind, name }, keys)}`, {
    missing: kind,
  });
}

/** Returns a hint with the object that was probably meant, of those with these keys; empty if there is none. */
export function meantHint({ kind, name }: ObjectKey, keys: Iterable<string>): string {
  const known = [...keys];
  const twin = KINDS.map((other) => keyOf(other, name)).find((other) => known.includes(other));
  const names = known.map(parseKey).flatMap((each) => (each.kind === kind ? [each.name] : []));
  const closest = closestName(name, names);
  const meant = twin ?? (closest === null ? null : keyOf(kind, closest));
  return meant === null ? '' : `; did you mean ${meant}?`;
}

/** Returns the object whose file has a path such as `desired-state/apps/web.yaml`, or the end of it; null for any other text. */
export function objectOfPath(text: string): string | null {
  const folders = text.split('/');
  const name = folders.pop()?.replace(/(?<=.)\.ya?ml$/, '') ?? '';
  const kind = KINDS.find((each) => folders.includes(DESCRIPTORS[each].folder));
  return kind === undefined || name === '' ? null : keyOf(kind, name);
}
