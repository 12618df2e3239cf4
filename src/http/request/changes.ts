import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import { existenceError } from '../../change/preconditions.ts';
import { ChangesRefused } from '../../change/refusals.ts';
import type { ChangeSet, Write } from '../../change/write.ts';
import { check } from '../../desired/explain.ts';
import { DESCRIPTORS } from '../../desired/kinds.ts';
import { HoldfastError } from '../../errors.ts';
import { KINDS, keyOf, Name } from '../../protocol/name.ts';
import { MAX_REASON } from '../../protocol/text.ts';
import type { Api } from '../api.ts';
import { bodyRules } from './body-rules.ts';
import { badFields, readFields, readFieldsOf } from './fields.ts';

const OPS = ['create', 'replace', 'change', 'delete'] as const;

/** The member of one change; which fields there must be depends on `op` and `kind`. */
const Change = z
  .strictObject({
    op: z.enum(OPS, { error: `must be one of ${OPS.join(', ')}` }),
    kind: z.enum(KINDS, { error: `must be one of ${KINDS.join(', ')}` }),
    name: Name,
    fields: z
      .unknown()
      .optional()
      .describe('As in the body of the request that makes the change alone; none for a delete.'),
  })
  .meta({ id: 'Change' });
type Change = z.infer<typeof Change>;

/** The most characters of the subject of a commit. */
const MAX_SUBJECT = 200;

/** The members of the body, whose changes are checked one by one. */
const Changes = z.strictObject({
  message: z
    .string()
    .trim()
    .min(1, 'must not be empty')
    .max(MAX_SUBJECT, `must have at most ${MAX_SUBJECT} characters; put more into reason`)
    .regex(/^[^\p{Cc}\u2028\u2029]*$/u, 'must be one line; put more into reason')
    .optional(),
  reason: z
    .string()
    .min(1, 'must not be empty')
    .max(MAX_REASON, `must have at most ${MAX_REASON} characters`)
    .optional(),
  changes: z.array(z.unknown()).min(1, 'must not be empty'),
});

/** The body for the OpenAPI document. */
export const ChangesBody = Changes.extend({ changes: z.array(Change).min(1) }).meta({ id: 'Changes' });

/**
 * Reads a set of changes from the body. Rejects with a 400 for the body as a whole, or as ChangesRefused with the error of
 * each change that cannot be read.
 */
export async function readChanges(
  request: FastifyRequest,
  api: Api,
): Promise<{ set: ChangeSet; reason: string | undefined }> {
  const rule = { schema: Changes, ignored: [], required: ['changes'] };
  const { message, reason, changes } = readFields(request, rule) as z.infer<typeof Changes>;
  const seen = new Set<string>();
  const errors = new Map<number, HoldfastError>();
  const readable: [index: number, write: Write][] = [];
  for (const [index, value] of changes.entries()) {
    try {
      readable.push([index, await readChange(value, seen, api)]);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      errors.set(index, error);
    }
  }
  if (errors.size > 0) throw new ChangesRefused(await withExistence(errors, readable, api));
  const writes = readable.map(([, write]) => write);
  return { set: { changes: writes, subject: message ?? null, trailers: [] }, reason };
}

/** Adds the changes whose object is missing, or exists already, so that all that is wrong by itself is named at once. */
async function withExistence(
  errors: ReadonlyMap<number, HoldfastError>,
  readable: readonly (readonly [index: number, write: Write])[],
  api: Api,
): Promise<Map<number, HoldfastError>> {
  const all = new Map(errors);
  for (const [index, write] of readable) {
    const error = await existenceError(api, write, write.op === 'create');
    if (error !== null) all.set(index, error);
  }
  return new Map([...all].sort(([a], [b]) => a - b));
}

async function readChange(value: unknown, seen: Set<string>, api: Api): Promise<Write> {
  const parsed = check(Change, value);
  if (!parsed.success) throw badFields(parsed.error.issues, Object.keys(Change.shape));
  const change = parsed.data;
  const key = keyOf(change.kind, change.name);
  if (seen.has(key)) throw badFields([], [], [['name', `an earlier change is also of ${key}; join them`]]);
  seen.add(key);
  try {
    return writeOf(change);
  } catch (error) {
    // As for single writes, that an object exists, or does not, is reported before its fields.
    throw (await existenceError(api, change, change.op === 'create')) ?? error;
  }
}

function writeOf({ op, kind, name, fields }: Change): Write {
  if (op === 'delete') {
    if (fields !== undefined) throw badFields([], [], [['fields', 'a delete has none']]);
    return { op, kind, name };
  }
  const { whole, partial } = bodyRules(kind);
  const isPartial = op === 'change';
  const read = readFieldsOf(fields, isPartial ? partial : whole);
  // The cast is safe because the rule of a kind reads the fields of its writes.
  return { op: isPartial ? DESCRIPTORS[kind].partialOp : op, kind, name, fields: read } as Write;
}
