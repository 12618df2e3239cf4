import * as z from 'zod';

/** One setting. */
export interface Setting<T> {
  /** Parses and checks the text that was given. */
  type: z.ZodType<T>;
  /** The value if the setting is not given. */
  fallback: T;
  /** Its description in the help text and the documents. */
  meaning: string;
  /** The value is never shown, logged or put into an error. */
  isSecret?: true;
  /** There is no default: the program does not start without it. */
  isRequired?: true;
}

/** Settings by name, in the order of the help text. */
export type SettingTable = Readonly<Record<string, Setting<unknown>>>;

/** The values of a table of settings. */
export type ValuesOf<T extends SettingTable> = { [N in keyof T]: T[N]['fallback'] };

/** A whole number written in digits. */
export function wholeNumber(min: number, max: number): z.ZodType<number> {
  const rule = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, rule)
    .transform(Number)
    .pipe(z.number().min(min, rule).max(max, rule));
}

export const Flag = z
  .enum(['true', 'false'], { error: 'must be true or false' })
  .transform((text) => text === 'true');
export const Text = z.string().min(1, 'must not be empty');
export const UserName = z.string().regex(/^[^:\p{Cc}]+$/u, 'must not be empty or contain a colon');
export const AbsolutePath = z.string().regex(/^\/[^\p{Cc}"]*$/u, 'must be an absolute path');

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export const LogLevel = z.enum(LOG_LEVELS, { error: `must be one of ${LOG_LEVELS.join(', ')}` });

/** Names separated by commas, each of this form. */
export function list(form: RegExp, rule: string): z.ZodType<string[]> {
  return z
    .string()
    .transform((text) => text.split(',').map((name) => name.trim()))
    .refine((names) => names.every((name) => form.test(name)), rule);
}

export function setting<T>(type: z.ZodType<T>, fallback: NoInfer<T>, meaning: string): Setting<T> {
  return { type, fallback, meaning };
}

/** A setting that has to be given. */
export function required(type: z.ZodType<string>, meaning: string): Setting<string> {
  return { type, fallback: '', meaning, isRequired: true };
}

/** A setting without a default: null if it is not given. */
export function optional<T>(type: z.ZodType<T>, meaning: string): Setting<T | null> {
  return { type, fallback: null, meaning };
}

export function secret(meaning: string, type: z.ZodType<string> = Text): Setting<string | null> {
  return { type, fallback: null, meaning, isSecret: true };
}

/** Returns the names of the settings whose values are never shown. */
export function secretsOf(table: SettingTable): string[] {
  return Object.keys(table).filter((name) => table[name]?.isSecret === true);
}

/** Returns the default of a setting as help and documents show it. */
export function shownDefault({ fallback, isSecret, isRequired }: Setting<unknown>): string {
  if (isRequired === true) return 'required';
  if (fallback === null || isSecret === true) return 'unset';
  return Array.isArray(fallback) ? fallback.join(',') : String(fallback);
}

/** Returns the values for the log, with secrets masked. */
export function shownValues(
  table: SettingTable,
  values: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const secrets = secretsOf(table);
  return Object.fromEntries(
    Object.keys(table).map((name) => {
      const isMasked = secrets.includes(name) && values[name] !== null;
      return [name, isMasked ? '(set)' : values[name]];
    }),
  );
}
