import type { IncomingHttpHeaders } from 'node:http';

/** Seconds: nobody may silence a device for longer. */
const LONGEST = 3600;

/**
 * Returns the seconds that `Retry-After` asks for, at most an hour; null if it is missing or no number or date. A date
 * is compared with that of the reply, since the clock of a device can be wrong. `now` is Unix milliseconds.
 */
export function retryAfterOf(headers: IncomingHttpHeaders, now: number): number | null {
  const text = headers['retry-after']?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text), LONGEST);
  const until = Date.parse(text);
  if (text === '' || Number.isNaN(until)) return null;
  const sent = Date.parse(headers['date'] ?? '');
  const seconds = Math.ceil((until - (Number.isNaN(sent) ? now : sent)) / 1000);
  return Math.min(Math.max(0, seconds), LONGEST);
}
