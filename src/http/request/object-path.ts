import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import { check } from '../../desired/explain.ts';
import { KINDS, Name, type ObjectKey } from '../../protocol/name.ts';
import { badFields } from './fields.ts';

/** The parameters of a path that ends with `/:kind/:name`. */
export const ObjectPath = z.object({
  kind: z.enum(KINDS, { error: `must be one of ${KINDS.join(', ')}` }),
  name: Name,
});

/** Returns the object that such a path names. Throws a 400 that says what is wrong with it. */
export function objectIn({ params }: FastifyRequest): ObjectKey {
  const parsed = check(ObjectPath, params);
  if (parsed.success) return parsed.data;
  throw badFields(parsed.error.issues, []);
}
