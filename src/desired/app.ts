import { APP_FIELDS, type App, type AppDefaults, type AppFields, isDefault } from '../protocol/app.ts';

/**
 * Returns an identifier of the rules by which files become contents: under the same rules, equal bytes have equal contents.
 * Raise the number with every change of the program that gives any file another content than before.
 */
export function readingRulesId(defaults: AppDefaults): string {
  return `7 ${JSON.stringify(defaults)}`;
}

/** Returns the fields with defaults filled in. Changes neither argument; the result shares values with both. */
export function completeApp(fields: AppFields, defaults: AppDefaults): App {
  const app: Record<string, unknown> = {};
  for (const field of APP_FIELDS) {
    const value = fields[field] ?? (defaults as Partial<App>)[field];
    // An optional field is absent if it says what would be without it.
    if (field in defaults || !isDefault(field, value, defaults)) app[field] = value;
  }
  return app as App;
}
