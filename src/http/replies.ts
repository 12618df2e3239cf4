import * as z from 'zod';

const AppExists = z.object({ app_exists: z.boolean(), apps: z.array(z.string()).optional() });
const GroupExists = z.object({ device_group_exists: z.boolean() });
const Denied = z.object({ access_allowed: z.literal(false) });
const Fault = z.looseObject({ error: z.string() });

const BadParameters = z.looseObject({
  missing_parameters: z.union([z.array(z.string()), z.string()]).optional(),
  invalid_parameters: z.record(z.string(), z.string()).optional(),
  error: z.string().optional(),
});

/** Error replies that every route behind credentials can give. */
export const commonErrors = {
  401: Denied.describe('Credentials are missing or wrong.'),
  403: Denied.describe('No permission: the request comes from a page of another site.'),
  500: Fault.describe('A fault inside; the request id leads to the log.'),
  503: Fault.describe('git, origin or the store cannot be reached; try again later.'),
};

/** Replies of a route that reads one object. */
export const readErrors = {
  ...commonErrors,
  400: BadParameters.describe('The name or a parameter is not acceptable.'),
  403: z.union([AppExists, GroupExists, Denied]).describe('There is no such object, or no permission.'),
};

/** Replies of every route that takes a body, or lets one pass. */
export const bodyErrors = {
  413: Fault.describe('The body is too large.'),
  415: Fault.describe('The body is not JSON.'),
};

/** The reply to an `If-Match` that does not hold. */
export const conditionErrors = { 412: Fault.describe('If-Match does not hold.') };

/** Replies of a route that changes configuration. */
export const writeErrors = {
  ...readErrors,
  ...conditionErrors,
  ...bodyErrors,
  409: Fault.describe('The repository does not allow the change; a person has to look.'),
};

/** The reply to a delete. */
export const Empty = z.object({}).meta({ id: 'Empty' });

/** A reply that is no JSON. */
interface PlainReply {
  description: string;
  content: Readonly<Record<string, { schema: z.ZodType }>>;
}

/** Describes a reply of plain text. */
export function plainText(description: string): PlainReply {
  return { description, content: { 'text/plain': { schema: z.string() } } };
}

/** The schema of a body that may also hold fields which are ignored: a record that was read can be sent back. */
export function withIgnored(schema: z.ZodObject, ignored: readonly string[]): z.ZodType {
  const field = z.unknown().optional().describe('Ignored.');
  return schema.extend(Object.fromEntries(ignored.map((name) => [name, field])));
}

/** What the OpenAPI document says of a route. */
export interface RouteDocs {
  summary: string;
  tag: string;
  reply: readonly [status: number, schema: z.ZodType | PlainReply];
  errors: Readonly<Record<number, z.ZodType | PlainReply>>;
  /** Whether it needs no credentials. */
  isPublic?: true;
  params?: z.ZodType;
  querystring?: z.ZodType;
  body?: z.ZodType;
}

/** The schema of a route in the form that fastify takes. */
export function documented({ summary, tag, reply, errors, isPublic, ...parts }: RouteDocs): {
  schema: object;
} {
  const [status, schema] = reply;
  const security = isPublic ? { security: [] } : {};
  return {
    schema: { summary, tags: [tag], ...security, ...parts, response: { ...errors, [status]: schema } },
  };
}

/** Makes what the document says of each route that changes one kind of object. */
export function documentedWrites(tag: string, params: z.ZodType) {
  return (summary: string, status: number, schema: z.ZodType, body?: z.ZodType): { schema: object } =>
    documented({
      summary,
      tag,
      params,
      reply: [status, schema],
      errors: writeErrors,
      ...(body && { body }),
    });
}
