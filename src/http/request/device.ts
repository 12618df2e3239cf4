import type { FastifyRequest } from 'fastify';
import { NAME_PATTERN, NAME_RULE } from '../../protocol/name.ts';
import { RequestRefused } from '../request-refused.ts';

/** Returns the name of the device in the path. Throws a 400 if it is not a valid name. */
export function deviceNameIn({ params }: FastifyRequest): string {
  const { device_name: name = '' } = params as Record<string, string>;
  if (NAME_PATTERN.test(name)) return name;
  throw new RequestRefused(400, NAME_RULE, { invalid_parameters: { device_name: NAME_RULE } });
}

/** The 403 for a device of which nothing is known. */
export function deviceAbsent(name: string): RequestRefused {
  return new RequestRefused(403, `no device "${name}" is known`, { device_exists: false });
}
