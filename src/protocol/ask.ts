import * as z from 'zod';
import { Name } from './name.ts';

/** The most bytes of the text of an answer. */
export const MAX_ANSWER_BYTES = 262_144;
const MOST_LINES = 2000;

const Since = z
  .string()
  .refine(
    (text) =>
      /^\d{1,6}[smhd]$/.test(text) || (/^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(Date.parse(text))),
    'must be a span such as 10m, or a time in ISO 8601',
  );

/** What a person asks a device. */
export const AskBody = z.discriminatedUnion('kind', [
  z
    .strictObject({
      kind: z.literal('logs'),
      app: Name,
      container: Name.optional().describe('Such as `web-2`; all of the app by default.'),
      lines: z.int().min(1).max(MOST_LINES).default(200),
      since: Since.optional(),
    })
    .meta({ id: 'AskLogs' }),
  z.strictObject({ kind: z.literal('retry'), app: Name }).meta({ id: 'AskRetry' }),
]);
export type AskBody = z.infer<typeof AskBody>;

const state = z.enum(['waiting', 'done', 'failed', 'expired']);
const base = { id: z.string(), kind: z.enum(['logs', 'retry']), app: z.string() };

/** An ask that was just made. */
export const MadeAsk = z.object({ ...base, state, expires_at: z.iso.datetime() }).meta({ id: 'MadeAsk' });
export type MadeAsk = z.infer<typeof MadeAsk>;

/** What waits for a device. */
export const WaitingAsks = z
  .object({
    asks: z.array(
      z
        .object({ ...base, container: z.string().nullable(), lines: z.int(), since: z.string().nullable() })
        .meta({ id: 'WaitingAsk' }),
    ),
  })
  .meta({ id: 'WaitingAsks' });
export type WaitingAsks = z.infer<typeof WaitingAsks>;

/** What a device answers: the newest lines, each beginning with its time (RFC 3339). */
export const AskAnswer = z
  .strictObject({ text: z.string(), truncated: z.boolean(), error: z.string().max(1000).nullable() })
  .meta({ id: 'AskAnswer' });
export type AskAnswer = z.infer<typeof AskAnswer>;

/** An ask, and its answer. */
export const AskRecord = z
  .object({
    ...base,
    state,
    by: z.string(),
    at: z.iso.datetime(),
    answered_at: z.iso.datetime().nullable(),
    text: z.string().nullable(),
    truncated: z.boolean(),
    error: z.string().nullable(),
  })
  .meta({ id: 'Ask' });
export type AskRecord = z.infer<typeof AskRecord>;
