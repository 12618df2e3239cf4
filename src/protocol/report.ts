import * as z from 'zod';

const TOO_LATE = `must be ${Number.MAX_SAFE_INTEGER} or less`;

/** A report as devices send it. Three fields are checked; all others are kept as sent (decisions, "Reports"). */
export const Report = z.looseObject({
  hostname: z.string().min(1, 'must not be empty'),
  device_group: z.string().min(1, 'must not be empty'),
  report_creation_time: z
    .int({ error: ({ code }) => (code === 'too_big' ? TOO_LATE : 'must be a whole number of seconds') })
    .min(0, 'must be 0 or more')
    .meta({ description: 'Seconds since the Unix epoch.' }),
});
export type Report = z.infer<typeof Report>;
