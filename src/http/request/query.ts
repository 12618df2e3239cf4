import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import { check } from '../../desired/explain.ts';
import { HoldfastError } from '../../errors.ts';
import { badFields } from './fields.ts';

/** One text: a key that is repeated in a query becomes a list, which no parameter is. */
export const One = z.string({ error: 'must be given once' }).min(1, 'must not be empty');

/** The digits of a whole number, as a number. */
export const WholeNumber = One.regex(/^\d+$/, 'must be a whole number')
  .transform(Number)
  .refine(Number.isSafeInteger, `must be ${Number.MAX_SAFE_INTEGER} or less`);

/**
 * A parameter that is not just a text: `text` reads what the query has, and `value` is what documents show of it, and
 * checks it further. A default is a value.
 */
export function parameter<V extends z.ZodType<string | number>>(text: z.ZodType<string | number>, value: V) {
  return z.preprocess((given, context) => {
    if (typeof given === 'number') return given;
    const { data = z.NEVER, error } = text.safeParse(given);
    for (const { code, message } of error?.issues ?? []) {
      // Where it goes on, checks of several parameters together find what else is wrong.
      context.addIssue({ code: 'custom', message, continue: code !== 'invalid_type' });
    }
    return data;
  }, value);
}

/** How many entries a page has at most. */
export function pageSize(fallback: number) {
  const size = z.int().min(1, 'must be 1 or more').max(1000, 'must be 1000 or less');
  return parameter(WholeNumber, size).prefault(fallback).describe('Entries per page.');
}

/**
 * Reads the query of a request. Throws the 400 that names every bad parameter; unknown ones are ignored, but not
 * attempts to smuggle in an operator: `hostname[$ne]=x` (decisions, "Reports").
 */
export function readQuery<T>(request: FastifyRequest, schema: z.ZodType<T>): T {
  refuseOperators(request.query as Record<string, unknown>);
  const parsed = check(schema, request.query);
  if (!parsed.success) throw badFields(parsed.error.issues, []);
  return parsed.data;
}

function refuseOperators(query: Record<string, unknown>): void {
  const operators = Object.keys(query).filter((key) => key.includes('$'));
  if (operators.length === 0) return;
  const why = 'operators are not supported';
  throw new HoldfastError('invalid', why, {
    invalid_parameters: Object.fromEntries(operators.map((key) => [key, why])),
  });
}
