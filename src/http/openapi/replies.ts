import * as z from 'zod';
import type { Kind } from '../../protocol/name.ts';
import { Conflict, ProblemRecord } from '../../protocol/plan.ts';

/** A reply in the OpenAPI document. */
export interface ReplyDocs {
  description: string;
  content: Readonly<Record<string, { schema: z.ZodType }>>;
}

/** Describes a JSON reply. */
export function json(description: string, schema: z.ZodType): ReplyDocs {
  return { description, content: { 'application/json': { schema } } };
}

/** Describes a plain text reply. */
export function plainText(description: string): ReplyDocs {
  return { description, content: { 'text/plain': { schema: z.string() } } };
}

const AppExists = z
  .object({
    app_exists: z.boolean(),
    apps: z
      .array(z.string())
      .optional()
      .describe('The apps that the device group lists and that do not exist.'),
  })
  .meta({ id: 'AppExists' });
const GroupExists = z.object({ device_group_exists: z.boolean() }).meta({ id: 'DeviceGroupExists' });
const DeviceExists = z.object({ device_exists: z.boolean() }).meta({ id: 'DeviceExists' });
const RevisionExists = z.object({ revision_exists: z.literal(false) }).meta({ id: 'RevisionExists' });
const EntryExists = z.object({ entry_exists: z.literal(false) }).meta({ id: 'EntryExists' });
const Denied = z.object({ access_allowed: z.literal(false) }).meta({ id: 'AccessDenied' });
export const Fault = z.looseObject({ error: z.string() }).meta({ id: 'Fault' });
const Unavailable = z
  .looseObject({
    error: z.string(),
    request_id: z.string().describe('The id of the request in the log.'),
    revision: z
      .string()
      .optional()
      .describe('The commit of the write, if it was made or may have been made.'),
    applied: z.boolean().optional().describe('Whether that commit is already applied.'),
    problems: z.array(ProblemRecord).optional(),
  })
  .meta({ id: 'FaultInside' });
const BadParameters = z
  .looseObject({
    missing_parameters: z
      .union([z.array(z.string()), z.string()])
      .meta({ id: 'MissingParameters' })
      .optional(),
    invalid_parameters: z.record(z.string(), z.string()).optional().describe('What is wrong, by field.'),
    error: z.string().optional(),
  })
  .meta({ id: 'BadParameters' });

/** The error replies of every route that needs credentials. */
export const commonErrors = {
  401: json('Credentials are missing or wrong.', Denied),
  403: json(
    'Not permitted: this is the device account, or the request comes from a page of another site.',
    Denied,
  ),
  421: plainText(
    'Authentication is off, and `Host` is neither an IP address, nor localhost, nor in ALLOWED_HOSTS.',
  ),
  500: json('Internal error. Look up the request id in the log.', Unavailable),
  503: json('git, origin or the store is unavailable; try again later.', Unavailable),
};

/** The reply to invalid fields, parameters or names. */
export const parameterErrors = { 400: json('The name or a parameter is invalid.', BadParameters) };

/** The bodies of the 403 of a route about one object. A device group can also list apps that do not exist. */
const EXISTENCE: Readonly<Record<Kind, z.ZodType>> = {
  app: z.union([AppExists, Denied]).meta({ id: 'AppRefusal' }),
  device_group: z.union([GroupExists, AppExists, Denied]).meta({ id: 'DeviceGroupRefusal' }),
  device: z.union([DeviceExists, GroupExists, Denied]).meta({ id: 'DeviceRefusal' }),
};

/** The reply to a read of something that the client already has. */
export const notModified = {
  304: z.null().describe('Unchanged since the response that If-None-Match names.'),
};

/** Returns the error replies of a route that reads one object. */
export function readErrors(kind: Kind) {
  return {
    ...commonErrors,
    ...parameterErrors,
    403: json('The object does not exist, or the request is not permitted.', EXISTENCE[kind]),
  };
}

/** The error replies of every route whose method can have a body, even if the route ignores it. */
export const bodyErrors = {
  ...parameterErrors,
  413: json('The body is too large.', Fault),
  415: json('The body is not JSON.', Fault),
};

/** The reply to a revision or an entry that does not exist. */
export const absentErrors = {
  404: json(
    'There is no such revision, or no entry of it.',
    z.union([RevisionExists, EntryExists]).meta({ id: 'HistoryAbsence' }),
  ),
};

/** The reply to a revision that is not there, and where it could come from. */
export const revisionAbsence = json(
  'There is no such revision. `hint` says how to make a pull request known, where the manager follows a clone.',
  z
    .object({ revision_exists: z.literal(false), hint: z.string().optional() })
    .meta({ id: 'RevisionAbsence' }),
);

/** The replies to a failed precondition. */
export const conditionErrors = {
  404: json('There is no such revision as Holdfast-Base.', RevisionExists),
  412: json(
    'If-Match does not match, If-None-Match matches, or the object has changed since Holdfast-Base.',
    Fault,
  ),
};

/** Returns the error replies of a route that changes configuration. */
export function writeErrors(kind: Kind) {
  return {
    ...readErrors(kind),
    ...conditionErrors,
    ...bodyErrors,
    403: json(
      'The object does not exist or already exists, or the request is not permitted.',
      EXISTENCE[kind],
    ),
    409: json('The state of the repository does not allow the write until someone resolves it.', Conflict),
  };
}

const ChangeError = z.looseObject({ error: z.string().optional() }).meta({ id: 'ChangeError' });
const ChangesRefused = z
  .object({ changes: z.record(z.string(), ChangeError) })
  .meta({ id: 'ChangesRefused' });

/** The error replies of a set of changes. */
export const changesErrors = {
  ...commonErrors,
  ...conditionErrors,
  ...bodyErrors,
  400: json(
    'By the index of each change that cannot be made, the error of the request that makes it alone; or what is wrong with the body.',
    z.union([ChangesRefused, BadParameters]).meta({ id: 'BadChanges' }),
  ),
  409: json('The state of the repository does not allow the changes until someone resolves it.', Conflict),
};

/** The body of the 403 of a route about one object of any kind. */
export const AnyExistence = z.union([AppExists, GroupExists, Denied]).meta({ id: 'FileRefusal' });

/** The error replies of a read of a file. */
export const fileErrors = {
  ...commonErrors,
  ...parameterErrors,
  403: json('The object has no file, or the request is not permitted.', AnyExistence),
  409: json('The file cannot be read.', Conflict),
};

/** The error replies of a write of a file. */
export const fileWriteErrors = {
  ...fileErrors,
  ...conditionErrors,
  ...bodyErrors,
  409: json('The text is invalid, or the state of the repository does not allow the write.', Conflict),
  428: json('If-Match and If-None-Match are missing.', Fault),
};

/** The reply to a delete. */
export const Empty = z.object({}).meta({ id: 'Empty' });
