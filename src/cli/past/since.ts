import * as z from 'zod';
import { UsageError } from '../shell/io.ts';

const UNITS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/**
 * Parses `4d`, `2w`, `90m`, `12h` or a date (`parseDate`); returns Unix milliseconds. Throws a UsageError for anything else.
 */
export function parseSince(text: string, now: number): number {
  const [, number, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? [];
  if (unit !== undefined) return now - Number(number) * (UNITS[unit] ?? 0);
  const at = parseDate(text);
  if (at !== null) return at;
  throw new UsageError(
    `--since takes a time ago, such as 4d, 2w or 12h, or a date such as 2026-11-01, not "${text}"`,
  );
}

/**
 * Parses a date of ISO 8601, `2026-11-01` or `2026-11-01T18:00`; returns Unix milliseconds, and null for anything else. Without a zone
 * it is in that of this machine, and without a time the beginning of the day.
 */
export function parseDate(text: string): number | null {
  const [, day = ''] = /^(\d{4}-\d{2}-\d{2})(?:T[\d:.]+(?:Z|[+-]\d{2}:\d{2})?)?$/.exec(text) ?? [];
  // Without this, the 30th of February would be the 2nd of March.
  if (!z.iso.date().safeParse(day).success) return null;
  // A date alone would be read as UTC.
  const at = Date.parse(text.includes('T') ? text : `${text}T00:00`);
  return Number.isNaN(at) ? null : at;
}
