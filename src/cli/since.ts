import * as z from 'zod';
import { UsageError } from './io.ts';

const UNITS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/**
 * Parses `4d`, `2w`, `90m`, `12h` or a date such as `2026-11-01`, with or without a time; resolves to Unix milliseconds. Throws a
 * UsageError for anything else.
 */
export function parseSince(text: string, now: number): number {
  const [, number, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (unit !== undefined) return now - Number(number) * (UNITS[unit] ?? 0);
  const [, day = ''] = /^(\d{4}-\d{2}-\d{2})(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?$/.exec(text) ?? [];
  // Without this, the 30th of February would be the 2nd of March.
  const isDate = z.iso.date().safeParse(day).success;
  // A date alone would be read as UTC.
  const at = isDate ? Date.parse(text.includes('T') ? text : `${text}T00:00`) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  throw new UsageError(
    `--since takes a time ago, such as 4d, 2w or 12h, or a date such as 2026-11-01, not "${text}"`,
  );
}
