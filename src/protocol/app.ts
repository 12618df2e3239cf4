import * as z from 'zod';
import { FreeText, NUL, Text } from './text.ts';
import { isMapValue } from './values.ts';

/** A port from 1 to 65535 as decimal digits, as device agents expect it in a mapping. */
const PORT_TEXT = /^([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$/;
const IMAGE = new RegExp(`^[^\\s${NUL}]+$`);
const PART = `[^:${NUL}]+`;
const MOUNT = new RegExp(`^${PART}:${PART}(:${PART})?$`);
const DEVICE = new RegExp(`^${PART}:${PART}(:[rwm]{1,3})?$`);
const ENV_NAME = new RegExp(`^[^=${NUL}]+$`);

const PORT_RULE = 'must be a port from 1 to 65535, or one pair of ports in quotes such as {"8080": "80"}';

const PortText = z.string().regex(PORT_TEXT, { error: PORT_RULE });
const PortPair = z
  .record(PortText, PortText)
  .refine((pair) => Object.keys(pair).length === 1, { error: PORT_RULE })
  .meta({ id: 'PortPair', minProperties: 1, maxProperties: 1 });

/** A port of the container, or one `{"host": "container"}` pair. */
const Port = z
  .union([z.int({ error: PORT_RULE, abort: true }).min(1, PORT_RULE).max(65535, PORT_RULE), PortPair], {
    error: ({ input }) => PORT_RULE + portHint(input),
  })
  .meta({ id: 'Port' });

/** A hint for frequent mistakes: a port in quotes, and a pair as in Docker (`8080:80`) or without quotes. */
function portHint(input: unknown): string {
  const isBare = isMapValue(input) && Object.values(input).some((port) => typeof port === 'number');
  if (isBare || (typeof input === 'string' && /^\d+:\d+$/.test(input)))
    return '; put each of the two ports in its own quotes';
  return typeof input === 'string' && PORT_TEXT.test(input) ? '; write a single port without quotes' : '';
}

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

const EnvVars = z
  .record(
    Text.regex(ENV_NAME, 'is not a valid variable name, which is not empty and contains no "="'),
    FreeText,
  )
  .meta({ id: 'EnvVars' });

/** The fields of an app that users write, in the order in which the API shows them. */
const shape = {
  container_image: Text.regex(IMAGE, 'must be an image reference such as "nginx:1.27", without spaces').meta({
    description: 'Image reference; may carry a tag.',
  }),
  starting_ports: z.array(Port).meta({
    description: 'Ports to open: a number, or one {"host": "container"} pair.',
  }),
  containers_per: ContainersPer.meta({
    description: 'How many containers to run per device, per CPU core, or by memory.',
  }),
  env_vars: EnvVars.meta({ description: 'Environment variables: a map of strings to strings.' }),
  running: z.boolean().meta({ description: 'Whether the app is meant to be running.' }),
  volumes: z
    .array(Text.regex(MOUNT, 'must be "source:target" or "source:target:mode"'))
    .meta({ description: 'Mounts: "source:target" or "source:target:mode".' }),
  networks: z.array(FreeText.min(1, 'must not be empty')).meta({ description: 'Names of networks to join.' }),
  devices: z
    .array(Text.regex(DEVICE, 'must be "host:container" or "host:container:permissions" (of r, w, m)'))
    .meta({ description: 'Device mappings: "host:container" or "host:container:permissions".' }),
  privileged: z.boolean().meta({ description: 'Whether containers run in privileged mode.' }),
  rolling_restart: z.boolean().meta({
    description: 'Whether a device replaces the containers one after another instead of all at once.',
  }),
};

/** An app with all fields, defaults filled in, as devices get it, but without name and ids. */
export const App = z.object(shape);
export type App = z.infer<typeof App>;

/** Some of the fields of an app: the body of a partial update. */
export const AppChange = z.strictObject(shape).partial();
export type AppChange = z.infer<typeof AppChange>;

/** The fields of an app's file, and the body of a create or full update: only `container_image` is required. */
export const AppFields = AppChange.required({ container_image: true });
export type AppFields = z.infer<typeof AppFields>;

/** The values of fields that a file or a body leaves out. */
export type AppDefaults = Omit<App, 'container_image'>;

/** Names of an app's fields, in the order in which they are shown. */
export const APP_FIELDS = Object.keys(shape) as (keyof App)[];

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
