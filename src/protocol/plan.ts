import * as z from 'zod';
import { KINDS } from './name.ts';

/** A problem in a file of the desired state. */
export const problemShape = {
  file: z.string().describe('Its path below the folder of the desired state.'),
  line: z.int(),
  column: z.int(),
  code: z.string(),
  message: z.string(),
  severity: z.enum(['error', 'warning']),
};
export const ProblemRecord = z.object(problemShape).meta({ id: 'Problem' });

/** A part of a text that changes, with up to three lines before and after it, as in a unified diff. Lines count from 1. */
const Hunk = z
  .object({
    old_start: z.int(),
    old_lines: z.int(),
    new_start: z.int(),
    new_lines: z.int(),
    lines: z
      .array(z.string())
      .describe(
        'Each begins with a space, "-" or "+"; or with "\\", where a text ends without a line break.',
      ),
  })
  .meta({ id: 'Hunk' });
export type Hunk = z.infer<typeof Hunk>;

/** A file before and after a commit. */
export const FileDiff = z
  .object({
    path: z.string().describe('Inside the repository.'),
    before: z.string().nullable().describe('Null if the file is new.'),
    after: z.string().nullable().describe('Null if the file is removed.'),
    hunks: z.array(Hunk),
    too_large: z
      .literal(true)
      .optional()
      .describe(
        'Texts and hunks are left out: a side is larger than 64 KiB, or the files before have 2 MiB of texts.',
      ),
  })
  .meta({ id: 'FileDiff' });
export type FileDiff = z.infer<typeof FileDiff>;

const Content = z.record(z.string(), z.unknown()).nullable();

/** A change of one object. */
export const StepRecord = z
  .object({
    kind: z.enum(KINDS),
    name: z.string(),
    action: z.enum(['create', 'update', 'delete']),
    fields: z.array(z.string()).describe('The fields that an update changes.'),
    before: Content.describe('The fields before, without ids; null if the object is new.'),
    after: Content.describe('The fields after it; null if the object is deleted.'),
  })
  .meta({ id: 'Step' });
export type StepRecord = z.infer<typeof StepRecord>;

/** What the devices of some groups do to the containers of an app. */
export const EffectRecord = z
  .object({
    app: z.string(),
    action: z.enum(['start', 'restart', 'stop']),
    groups: z.array(z.string()),
    devices: z.int().nullable().describe('How many devices; null while they are not known.'),
  })
  .meta({ id: 'Effect' });
export type EffectRecord = z.infer<typeof EffectRecord>;

/** What a write would do. */
export const Preview = z
  .object({
    base: z.string().nullable().describe('The commit on which it would be made; null if there is none.'),
    subject: z.string().nullable().describe('The subject of the commit; null if nothing would change.'),
    files: z.array(FileDiff),
    steps: z.array(StepRecord),
    effects: z.array(EffectRecord),
    problems: z
      .array(ProblemRecord)
      .describe('Problems of other objects that the write leaves, and warnings.'),
  })
  .meta({ id: 'Preview' });
export type Preview = z.infer<typeof Preview>;

/** Why the state of the repository does not allow a write. */
export const Conflict = z
  .looseObject({
    error: z.string(),
    revision: z.string().optional().describe('The commit of the write, if it was made.'),
    applied: z.boolean().optional(),
    problems: z.array(ProblemRecord).optional().describe('The problems of the files that block the write.'),
  })
  .meta({ id: 'Conflict' });

/** What a revision would change. */
export const BranchPlanRecord = z
  .object({
    revision: z.string(),
    base: z.string().nullable().describe('The revision that is applied.'),
    merge_base: z.string().describe('Where the branch began.'),
    steps: z.array(StepRecord),
    effects: z.array(EffectRecord),
    problems: z.array(ProblemRecord),
  })
  .meta({ id: 'BranchPlan' });
