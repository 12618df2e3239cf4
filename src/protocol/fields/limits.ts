import * as z from 'zod';
import { ByteSize } from './byte-size.ts';
import { knownKeys } from './known-keys.ts';

const LIMITS = [
  'core',
  'cpu',
  'data',
  'fsize',
  'locks',
  'memlock',
  'msgqueue',
  'nice',
  'nofile',
  'nproc',
  'rss',
  'rtprio',
  'rttime',
  'sigpending',
  'stack',
] as const;

const VALUE_RULE = 'must be a whole number, or -1 for no limit';
const Value = z.int({ error: VALUE_RULE }).min(-1, VALUE_RULE);
const ULIMIT_RULE =
  'must be a whole number, or {soft: 1024, hard: 2048} with soft not above hard; -1 is no limit';
const Pair = z
  .strictObject({ soft: Value, hard: Value })
  .refine(({ soft, hard }) => isWithin(soft, hard), { error: ULIMIT_RULE })
  .meta({ id: 'UlimitPair' });
const Ulimit = z.union([Value, Pair], { error: ULIMIT_RULE }).meta({ id: 'Ulimit' });

function isWithin(soft: number, hard: number): boolean {
  return hard === -1 || (soft !== -1 && soft <= hard);
}

const ulimits = Object.fromEntries(LIMITS.map((name) => [name, Ulimit.optional()])) as Record<
  (typeof LIMITS)[number],
  z.ZodOptional<typeof Ulimit>
>;

/** Fields that limit what a container uses. */
export const limitFields = {
  cpus: z
    .number({ error: 'must be a number of processors such as 0.5' })
    .min(0.01, 'must be 0.01 or more')
    .max(10_000, 'must be 10000 or less')
    .meta({ description: 'Processors that it may use at most: 0.5 is half of one.' }),
  memory: ByteSize('6m').meta({ description: 'Memory that it may use at most, with a unit: 512m, 2g.' }),
  shm_size: ByteSize('1b').meta({ description: 'Size of /dev/shm, with a unit: 256m.' }),
  ulimits: z
    .strictObject(ulimits, { error: knownKeys(LIMITS) })
    .meta({ id: 'Ulimits', description: 'Limits of processes: a number, or a soft and a hard one.' }),
};

/** Returns the soft and the hard value of a limit. */
export function ulimitValues(limit: z.infer<typeof Ulimit>): { soft: number; hard: number } {
  return typeof limit === 'number' ? { soft: limit, hard: limit } : limit;
}
