import type { App, AppChange, AppDefaults } from '../desired/app.ts';
import { sameContent } from '../plan/content.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields that an app's file shall have, given those it has and those that are wished for. A field that the
 * file leaves out stays left out where the wish is its default; one that the file has is kept where it says
 * the same already.
 *
 * `replace`: fields that are not wished for go back to their default, so they leave the file.
 */
export function targetFields(
  file: Fields,
  wished: AppChange,
  defaults: AppDefaults,
  replace: boolean,
): Fields {
  const target: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(file)) {
    const kept = keptValue(value, (wished as Fields)[field], defaultOf(field, defaults), replace);
    if (kept !== undefined) target[field] = kept;
  }
  for (const [field, value] of Object.entries(wished)) {
    const isNews = !(field in file) && value !== undefined && !sameContent(value, defaultOf(field, defaults));
    if (isNews) target[field] = value;
  }
  return target;
}

function keptValue(value: unknown, wished: unknown, fallback: unknown, replace: boolean): unknown {
  if (wished !== undefined) return sameContent(value, wished) ? value : wished;
  return replace && !sameContent(value, fallback) ? undefined : value;
}

function defaultOf(field: string, defaults: AppDefaults): unknown {
  return (defaults as Partial<App>)[field as keyof App];
}
