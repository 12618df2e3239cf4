import type { App, AppChange, AppDefaults } from '../desired/app.ts';
import { type Fields, sameValue } from '../desired/values.ts';

/** What becomes of the fields that a write does not name: `change` keeps them, `replace` sets them to their defaults. */
export type WriteMode = 'change' | 'replace';

/**
 * The fields that an app's file is to have, given those it has and those that the write names. They are as close to the
 * file as can be: a default is written only where the file has another value now, and a value that says the same as
 * before stays as it is written.
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

/** The value of a field that the file has; undefined to remove the field. */
function keptValue(value: unknown, requested: unknown, fallback: unknown, mode: WriteMode): unknown {
  if (requested !== undefined) return sameValue(value, requested) ? value : requested;
  return mode === 'replace' && !sameValue(value, fallback) ? undefined : value;
}

function defaultOf(field: string, defaults: AppDefaults): unknown {
  return (defaults as Partial<App>)[field as keyof App];
}
