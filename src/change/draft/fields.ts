import { type AppChange, type AppDefaults, isDefault } from '../../protocol/app.ts';
import { type Fields, sameValue } from '../../protocol/values.ts';

/**
 * How a write treats the fields that it does not name: `change` keeps them, `replace` resets them to their defaults.
 */
export type WriteMode = 'change' | 'replace';

/**
 * Returns the fields that an app's file has after a write, from the fields that it has now (`file`) and those that the
 * write names. Stays as close to the file as possible: a default is written only to replace another value, and a value
 * that is equal to the requested one stays as it is written.
 */
export function targetFields(
  file: Fields,
  requested: AppChange,
  defaults: AppDefaults,
  mode: WriteMode,
): Fields {
  const target: Record<string, unknown> = {};
  const isLikeNone = (field: string, value: unknown): boolean => isDefault(field, value, defaults);
  for (const [field, value] of Object.entries(file)) {
    const kept = keptValue(value, (requested as Fields)[field], mode, (candidate) =>
      isLikeNone(field, candidate),
    );
    if (kept !== undefined) target[field] = kept;
  }
  for (const [field, value] of Object.entries(requested)) {
    const isNew = !(field in file) && value !== null && !isLikeNone(field, value);
    if (isNew) target[field] = value;
  }
  return target;
}

/** Returns the new value of a field that the file has; undefined removes the field, as a request for null does. */
function keptValue(
  value: unknown,
  requested: unknown,
  mode: WriteMode,
  isLikeNone: (value: unknown) => boolean,
): unknown {
  if (requested === undefined) return mode === 'change' || isLikeNone(value) ? value : undefined;
  if (requested === null) return isLikeNone(value) ? value : undefined;
  const isSame = sameValue(value, requested) || (isLikeNone(value) && isLikeNone(requested));
  return isSame ? value : requested;
}
