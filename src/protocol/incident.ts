import * as z from 'zod';

/** Something that is or was wrong. */
export const IncidentRecord = z
  .object({
    id: z.string(),
    key: z.string().describe('What is wrong, the same each time: `problem:app/web`.'),
    kind: z.string(),
    since: z.iso.datetime(),
    told_at: z.iso.datetime().nullable().describe('When people were told of it; null if they were not.'),
    until: z.iso.datetime().nullable().describe('When it ended; null while it lasts.'),
    text: z.string(),
    objects: z.array(z.string()),
    groups: z.array(z.string()),
  })
  .meta({ id: 'Incident' });
export type IncidentRecord = z.infer<typeof IncidentRecord>;

export const IncidentPage = z
  .object({ incidents: z.array(IncidentRecord), next: z.string().nullable() })
  .meta({ id: 'IncidentPage' });
export type IncidentPage = z.infer<typeof IncidentPage>;
