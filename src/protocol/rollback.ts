import * as z from 'zod';
import { NAME_PATTERN, Name, parseKey } from './name.ts';
import { Conflict, Preview } from './plan.ts';
import { MAX_REASON } from './text.ts';

const ObjectName = z
  .string()
  .refine((text) => /^(app|device_group|device)\//.test(text) && NAME_PATTERN.test(parseKey(text).name), {
    error: 'must be app/NAME, device_group/NAME or device/NAME',
  });
/** The most objects that a restore can name. */
const MOST_OBJECTS = 1000;
const Revision = z
  .string()
  .min(1, 'must not be empty')
  .describe('A full or short id of a commit, a branch or a tag.');

/** What to go back to, and for which objects. */
export const RollbackBody = z
  .strictObject({
    to: Revision.optional(),
    objects: z
      .array(ObjectName)
      .min(1, 'must not be empty')
      .max(MOST_OBJECTS, `must have at most ${MOST_OBJECTS} entries; use all or group`)
      .optional(),
    group: Name.optional(),
    with_apps: z.boolean().optional().describe('With group: also the apps that it listed then.'),
    all: z.literal(true, { error: 'must be true, or left out' }).optional(),
    undo: Revision.optional(),
    with_dependencies: z.boolean().optional().describe('Also bring back the apps that groups need.'),
    allow_delete: z.boolean().optional().describe('Delete objects that did not exist then.'),
    reason: z
      .string()
      .trim()
      .min(1, 'must not be empty')
      .max(MAX_REASON, `must have at most ${MAX_REASON} characters`)
      .optional()
      .describe('Why, for the body of the commit message.'),
  })
  .meta({ id: 'RollbackRequest' });
export type RollbackBody = z.infer<typeof RollbackBody>;

/** What a rollback did. */
export const RollbackResult = z
  .object({
    revision: z.string().nullable().describe('The commit; null if nothing differs.'),
    ids: z.record(z.string(), z.int()),
  })
  .meta({ id: 'RollbackResult' });

const LastChange = z
  .object({
    object: z.string(),
    field: z.string().nullable().describe('Null for the object as a whole.'),
    by: z.string().describe('The commit.'),
    actor: z.string(),
  })
  .meta({ id: 'LastChange' });
const Need = z.object({ object: z.string(), why: z.string() }).meta({ id: 'Need' });
/** Why a rollback is not possible. */
export const RollbackBlocked = Conflict.extend({
  conflicts: z.array(LastChange).optional().describe('Later changes that an undo would take back.'),
  needs: z.array(Need).optional().describe('What stands in the way.'),
  newest_valid: z
    .string()
    .nullable()
    .optional()
    .describe('The newest revision before it whose file is valid; null if there is none.'),
}).meta({ id: 'RollbackBlocked' });
/** What a rollback would do. */
export const RollbackPreviewRecord = Preview.extend({
  also_lost: z
    .array(LastChange)
    .describe('The fields that go back to another value with a restore, each with its newest change since.'),
  also_lost_complete: z.boolean().describe('Whether there was time to look for all of them.'),
  needs: z.array(Need).describe('What stands in the way; the rollback itself is then 409.'),
}).meta({ id: 'RollbackPreview' });
