import type { FastifyRequest } from 'fastify';
import { type Kind, NAME_PATTERN, NAME_RULE } from '../../desired/name.ts';
import { HoldfastError } from '../../errors.ts';

/** Parameters in paths, by kind. */
export const NAME_PARAMETERS: Readonly<Record<Kind, string>> = {
  app: 'app_name',
  device_group: 'device_group_name',
};

/** The name in the path. Throws the 400 of a text that cannot be a name. */
export function nameIn(request: FastifyRequest, kind: Kind): string {
  const parameter = NAME_PARAMETERS[kind];
  const name = (request.params as Record<string, string>)[parameter] ?? '';
  if (NAME_PATTERN.test(name)) return name;
  throw new HoldfastError('invalid', NAME_RULE, { invalid_parameters: { [parameter]: NAME_RULE } });
}
