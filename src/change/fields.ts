import type { App, AppChange, AppDefaults } from '../protocol/app.ts';
import { type Fields, sameValue } from '../protocol/values.ts';

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
  for (const [field, value] of Object.entries(file)) {
    const kept = keptValue(value, (requested as Fields)[field], defaultOf(field, defaults), mode);
    if (kept !== undefined) target[field] = kept;
  }
  for (const [field, value] of Object.entries(requested)) {
    const isNew = !(field in file) && !sameValue(value, defaultOf(field, defaults));
    if (isNew) target[field] = value;
  }
  return target;
}

/** Returns the new value of a field that the file has; undefined removes the field. */
function keptValue(value: unknown, requested: unknown, fallback: unknown, mode: WriteMode): unknown {
  if (requested !== undefined) return sameValue(value, requested) ? value : requested;
  return mode === 'replace' && !sameValue(value, fallback) ? undefined : value;
}

function defaultOf(field: string, defaults: AppDefaults): unknown {
  return (defaults as Partial<App>)[field as keyof App];
}
