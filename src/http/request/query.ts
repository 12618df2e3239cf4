import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import { check } from '../../desired/explain.ts';
import type { HoldfastError } from '../../errors.ts';
import { RequestRefused } from '../request-refused.ts';
import { recordOf } from '../route-record.ts';
import { badFields } from './fields.ts';

/** A text that is not empty. A key that occurs twice in a query is a list, which no parameter accepts. */
export const Text = z.string({ error: 'must be given once' }).min(1, 'must not be empty');

/** A number of zero or more, in decimal digits. */
export const WholeNumber = Text.regex(/^\d+$/, 'must be a whole number')
  .transform(Number)
  .refine(Number.isSafeInteger, `must be ${Number.MAX_SAFE_INTEGER} or less`);

type Value = string | number | boolean;

/**
 * Makes the schema of a parameter that is more than a text: `text` parses the text of the query, and `value` checks the
 * result. Only `value` appears in the OpenAPI document, and a default is given as such a value.
 */
export function parameter<V extends z.ZodType<Value>>(text: z.ZodType<Value>, value: V) {
  return z.preprocess((given, context) => {
    if (typeof given === 'number') return given;
    const { data = z.NEVER, error } = text.safeParse(given);
    for (const { message } of error?.issues ?? []) {
      // `continue` lets checks of several parameters together report what else is wrong.
      context.addIssue({ code: 'custom', message, continue: true });
    }
    return data;
  }, value);
}

/**
 * Reads the query of a request. Throws a 400 that names every bad parameter. Unknown parameters are ignored, except
 * attempts to smuggle in an operator, such as `hostname[$ne]=x` (docs/contract.md, 9.2).
 */
export function readQuery<T>(request: FastifyRequest, schema: z.ZodType<T>): T {
  refuseOperators(request.query as Record<string, unknown>);
  const parsed = check(schema, request.query);
  if (!parsed.success) throw badFields(parsed.error.issues, []);
  return parsed.data;
}

/** How many unknown parameters of a write are reported. */
const MAX_UNKNOWN = 20;

/**
 * Returns the 400 for a write with a bad parameter, or with one that it does not have, since the client expects an effect of
 * it: otherwise `?dryrun=true` would delete. Null for all other requests (docs/contract.md, 5.3).
 */
export function badParameters(request: FastifyRequest): HoldfastError | null {
  const { method, query } = request;
  // A forge may call the webhook with anything.
  if (method === 'GET' || method === 'HEAD' || !recordOf(request).guarded) return null;
  const options = request.routeOptions.schema?.querystring as z.ZodObject | undefined;
  const known = Object.keys(options?.shape ?? {});
  const unknown = Object.keys(query as object).filter((key) => !known.includes(key));
  const why = 'is not a parameter of this request';
  const errors = unknown.slice(0, MAX_UNKNOWN).map((key): [string, string] => [key, why]);
  const issues = (options && check(options, query).error?.issues) ?? [];
  return issues.length + errors.length === 0 ? null : badFields(issues, known, errors);
}

function refuseOperators(query: Record<string, unknown>): void {
  const operators = Object.keys(query).filter((key) => key.includes('$'));
  if (operators.length === 0) return;
  const reason = 'operators are not supported';
  throw new RequestRefused(400, reason, {
    invalid_parameters: Object.fromEntries(operators.map((key) => [key, reason])),
  });
}
