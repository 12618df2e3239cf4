import * as z from 'zod';
import { Healthcheck } from './fields/healthcheck.ts';
import { limitFields } from './fields/limits.ts';
import { processFields } from './fields/process.ts';
import { Restart } from './fields/restart.ts';
import { securityFields } from './fields/security.ts';
import { surroundingFields } from './fields/surroundings.ts';
import { sameValue } from './values.ts';

const { command, entrypoint, user, working_dir, init, stop_signal, stop_grace_period } = processFields;
const { cpus, memory, shm_size, ulimits } = limitFields;
const { read_only, cap_add, cap_drop, security_opt } = securityFields;
const { labels, tmpfs, extra_hosts, logging } = surroundingFields;

/**
 * The fields that an app need not have, with the names and meanings of Compose, in the order in which they are shown. One
 * that says what would be without it is absent (`isLikeAbsent`), so that the record of an app without them is unchanged.
 */
export const optionalFields = {
  command,
  entrypoint,
  user,
  working_dir,
  labels,
  healthcheck: Healthcheck.meta({ description: 'A health check instead of that of the image.' }),
  cpus,
  memory,
  shm_size,
  read_only,
  tmpfs,
  cap_add,
  cap_drop,
  security_opt,
  ulimits,
  extra_hosts,
  init,
  stop_signal,
  stop_grace_period,
  restart: Restart.meta({
    description:
      'When a container that ended is started again: unless-stopped, always, on-failure[:n] or "no".',
  }),
  logging,
  pull_policy: z
    .enum(['always', 'missing'], { error: 'must be always or missing' })
    .meta({ description: 'Whether a new id pulls the image always, or only if it is missing.' }),
};

/** The name of an optional field. */
export type OptionalField = keyof typeof optionalFields;

/** Names of the optional fields, in the order in which they are shown. */
export const OPTIONAL_FIELDS = Object.keys(optionalFields) as OptionalField[];

/** The values of optional fields that say what would be without them. */
export const OPTIONAL_DEFAULTS: Readonly<Partial<Record<OptionalField, unknown>>> = {
  command: [],
  entrypoint: [],
  labels: {},
  read_only: false,
  tmpfs: [],
  cap_add: [],
  cap_drop: [],
  security_opt: [],
  ulimits: {},
  extra_hosts: [],
  init: false,
  restart: 'unless-stopped',
  logging: {},
  pull_policy: 'always',
};

/** Other ways to say what would be without a field. */
const OTHER_DEFAULTS: typeof OPTIONAL_DEFAULTS = { restart: 'always', logging: { options: {} } };

/** Whether a value of an optional field says what would be without it, as `restart: always` does. */
export function isLikeAbsent(field: OptionalField, value: unknown): boolean {
  return [undefined, OPTIONAL_DEFAULTS[field], OTHER_DEFAULTS[field]].some((other) =>
    sameValue(value, other),
  );
}
