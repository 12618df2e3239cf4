import * as z from 'zod';
import { ImageReference } from './image.ts';
import { Mount } from './mount.ts';
import { isLikeAbsent, type OptionalField, optionalFields } from './optional-fields.ts';
import { Port } from './ports.ts';
import { FreeText, NUL, Text } from './text.ts';
import { sameValue } from './values.ts';

const PART = `[^:${NUL}]+`;
const DEVICE = new RegExp(`^${PART}:${PART}(:[rwm]{1,3})?$`);
const ENV_NAME = new RegExp(`^[^=${NUL}]+$`);

/** Largest whole number that is exact for every reader of JSON and YAML. */
const LARGEST = Number.MAX_SAFE_INTEGER;
const LARGEST_RULE = `must be ${LARGEST} or less`;

const Count = z
  .int({
    error: ({ code }) => (code === 'too_big' ? LARGEST_RULE : 'must be a whole number of 1 or more'),
  })
  .min(1, 'must be 1 or more');
const PER_KEYS = 'server, instance, cpu, memory, mem';
const PER_RULE = `needs at least one of ${PER_KEYS}`;
const PER_ERRORS: Readonly<Record<string, string>> = {
  invalid_type: 'must be a map such as {server: 2}',
  unrecognized_keys: `is not a known field; known fields are ${PER_KEYS}`,
};

const ContainersPer = z
  .strictObject(
    {
      server: Count.optional(),
      instance: Count.optional(),
      cpu: z
        .number({ error: 'must be a number above 0' })
        .positive('must be above 0')
        .max(LARGEST, LARGEST_RULE)
        .optional(),
      memory: Count.optional(),
      mem: Count.optional(),
    },
    { error: ({ code }) => PER_ERRORS[code] },
  )
  .refine((per) => Object.values(per).some((count) => count !== undefined), { error: PER_RULE })
  .meta({ id: 'ContainersPer', minProperties: 1 });

/** YAML readers refuse long keys: the specification lets them from 1,024 characters on, and some names need escapes. */
const MAX_ENV_NAME = 255;

const EnvVars = z
  .record(
    Text.regex(ENV_NAME, 'is not a valid variable name, which is not empty and contains no "="').max(
      MAX_ENV_NAME,
      `has a name of more than ${MAX_ENV_NAME} characters`,
    ),
    FreeText,
  )
  .meta({ id: 'EnvVars' });

/** The fields of an app that users write, in the order in which the API shows them. */
const shape = {
  container_image: ImageReference.meta({
    description: 'Image reference: [host[:port]/]path[:tag][@digest].',
  }),
  starting_ports: z.array(Port).meta({
    description:
      'Ports to open: a number, or one {"host": "container"} pair such as {"127.0.0.1:8080": "80"} or {"53": "53/udp"}.',
  }),
  containers_per: ContainersPer.meta({
    description: 'How many containers to run per device, per CPU core, or by memory.',
  }),
  env_vars: EnvVars.meta({ description: 'Environment variables: a map of strings to strings.' }),
  running: z.boolean().meta({ description: 'Whether the app is meant to be running.' }),
  volumes: z.array(Mount).meta({
    description:
      'Mounts: "source:target" or "source:target:mode". The source is an absolute path or the name of a volume.',
  }),
  networks: z.array(FreeText.min(1, 'must not be empty')).meta({ description: 'Names of networks to join.' }),
  devices: z
    .array(Text.regex(DEVICE, 'must be "host:container" or "host:container:permissions" (of r, w, m)'))
    .meta({ description: 'Device mappings: "host:container" or "host:container:permissions".' }),
  privileged: z.boolean().meta({ description: 'Whether containers run in privileged mode.' }),
  rolling_restart: z.boolean().meta({
    description: 'Whether a device replaces the containers one after another instead of all at once.',
  }),
};

const optional = z.object(optionalFields).partial().shape;

/**
 * An app with its fields, defaults filled in, as devices get it, but without name and ids. Optional fields are absent if
 * they say what would be without them.
 */
export const App = z.object({ ...shape, ...optional });
export type App = z.infer<typeof App>;

/** The fields of an app's file: only `container_image` is required. */
export const AppFields = z
  .strictObject({ ...shape, ...optional })
  .partial()
  .required({ container_image: true });
export type AppFields = z.infer<typeof AppFields>;

/** In a body, null is an optional field that is to be absent. */
const removable = Object.fromEntries(
  Object.entries(optional).map(([field, schema]) => [field, schema.unwrap().nullable().optional()]),
) as { [F in OptionalField]: z.ZodOptional<z.ZodNullable<(typeof optionalFields)[F]>> };

/** Some of the fields of an app: the body of a partial update. */
export const AppChange = z.strictObject({ ...shape, ...removable }).partial();
export type AppChange = z.infer<typeof AppChange>;

/** The body of a create or full update: only `container_image` is required. */
export const AppBody = AppChange.required({ container_image: true });
export type AppBody = z.infer<typeof AppBody>;

/** The values of fields that a file or a body leaves out. Optional fields have none. */
export type AppDefaults = Omit<App, 'container_image' | OptionalField>;

/** Names of an app's fields, in the order in which they are shown. */
export const APP_FIELDS = Object.keys(App.shape) as (keyof App)[];

function isOptionalField(field: string): field is OptionalField {
  return Object.hasOwn(optionalFields, field);
}

/** Whether a value of a field says what would be without it. */
export function isDefault(field: string, value: unknown, defaults: AppDefaults): boolean {
  if (isOptionalField(field)) return isLikeAbsent(field, value);
  return sameValue(value, (defaults as Readonly<Record<string, unknown>>)[field]);
}

/** Returns the defaults of an app's fields (docs/desired-state.md). `networks` comes from the setting DEFAULT_NETWORKS. */
export function appDefaults(networks: readonly string[]): AppDefaults {
  return {
    starting_ports: [],
    containers_per: { server: 1 },
    env_vars: {},
    running: true,
    volumes: [],
    networks: [...networks],
    devices: [],
    privileged: false,
    rolling_restart: false,
  };
}
