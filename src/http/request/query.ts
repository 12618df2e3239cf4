import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import { HoldfastError } from '../../errors.ts';
import { badFields } from './fields.ts';

/** One text, as it stands in the query: a key that is repeated becomes a list, which no parameter is. */
export const One = z.string({ error: 'must be given once' }).min(1, 'must not be empty');

export const WholeNumber = One.regex(/^\d+$/, 'must be a whole number')
  .transform(Number)
  .refine(Number.isSafeInteger, `must be ${Number.MAX_SAFE_INTEGER} or less`);

/** How many entries a page has at the most: 1 to 1000. */
export function pageSize(fallback: number) {
  return WholeNumber.pipe(z.int().min(1, 'must be 1 or more').max(1000, 'must be 1000 or less')).default(
    fallback,
  );
}

/** What documents tell of it: what the text in a query stands for. */
export function pageSizeDocs(fallback: number) {
  return z.int().min(1).max(1000).default(fallback).describe('Entries per page.');
}

/**
 * Reads the query of a request. Throws the 400 that names every bad parameter; unknown ones are ignored, but not
 * attempts to smuggle in an operator: `hostname[$ne]=x` (decisions, "Reports").
 */
export function readQuery<T>(request: FastifyRequest, schema: z.ZodType<T>): T {
  refuseOperators(request.query as Record<string, unknown>);
  const parsed = schema.safeParse(request.query, { reportInput: true });
  if (!parsed.success) throw badFields(parsed.error.issues, []);
  return parsed.data;
}

function refuseOperators(query: Record<string, unknown>): void {
  const operators = Object.keys(query).filter((key) => key.includes('$'));
  if (operators.length === 0) return;
  const why = 'operators are not taken';
  throw new HoldfastError('invalid', why, {
    invalid_parameters: Object.fromEntries(operators.map((key) => [key, why])),
  });
}
