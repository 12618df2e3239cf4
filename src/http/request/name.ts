import type { FastifyRequest } from 'fastify';
import { type Kind, NAME_PATTERN, NAME_RULE } from '../../protocol/name.ts';
import { RequestRefused } from '../request-refused.ts';
import { nameParameter } from '../route-record.ts';

/** Returns the name in the path. Throws a 400 if it is not a valid name. */
export function nameIn(request: FastifyRequest, kind: Kind): string {
  const parameter = nameParameter(kind);
  const name = (request.params as Record<string, string>)[parameter] ?? '';
  if (NAME_PATTERN.test(name)) return name;
  throw new RequestRefused(400, NAME_RULE, { invalid_parameters: { [parameter]: NAME_RULE } });
}
