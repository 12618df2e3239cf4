import { parseDocument } from 'yaml';
import * as z from 'zod';
import { isMapValue } from '../protocol/values.ts';

/** Compose writes numbers and booleans with or without quotes, as the file had them. */
const Text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const Texts = z.array(Text);
const TextMap = z.record(z.string(), Text.nullable());
const Flag = z.boolean();

const Port = z.looseObject({
  target: z.int(),
  published: Text.optional(),
  host_ip: z.string().optional(),
  protocol: z.string().optional(),
});
export type Port = z.infer<typeof Port>;

const Mount = z.looseObject({
  type: z.string(),
  source: z.string().optional(),
  target: z.string(),
  read_only: Flag.optional(),
  bind: z.looseObject({ propagation: z.string().optional(), selinux: z.string().optional() }).optional(),
  volume: z.looseObject({ nocopy: Flag.optional() }).optional(),
  tmpfs: z.looseObject({ size: Text.optional(), mode: z.int().optional() }).optional(),
});
export type Mount = z.infer<typeof Mount>;

const Healthcheck = z.looseObject({
  test: z.union([z.string(), Texts]).optional(),
  interval: z.string().optional(),
  timeout: z.string().optional(),
  retries: z.number().optional(),
  start_period: z.string().optional(),
  disable: Flag.optional(),
});

const Deploy = z.looseObject({
  replicas: z.int().optional(),
  resources: z
    .looseObject({
      limits: z.looseObject({ cpus: Text.optional(), memory: Text.optional() }).optional(),
    })
    .optional(),
  restart_policy: z
    .looseObject({ condition: z.string().optional(), max_attempts: z.int().optional() })
    .optional(),
});

const Limit = z.union([z.int(), z.strictObject({ soft: z.int(), hard: z.int() })]);
const Device = z.looseObject({ source: z.string(), target: z.string(), permissions: z.string() });
const Dependency = z.looseObject({ condition: z.string().optional() });

/** A service as `docker compose config` writes it: every value in its long form. Keys without a value are taken out before. */
const Service = z.looseObject({
  image: Text.optional(),
  command: Texts.optional(),
  entrypoint: Texts.optional(),
  environment: TextMap.optional(),
  env_file: z.never().optional(),
  extends: z.never().optional(),
  ports: z.array(Port).optional(),
  volumes: z.array(Mount).optional(),
  networks: z.record(z.string(), z.looseObject({}).nullable()).optional(),
  network_mode: z.string().optional(),
  devices: z.array(z.union([Device, z.string()])).optional(),
  tmpfs: Texts.optional(),
  labels: TextMap.optional(),
  healthcheck: Healthcheck.optional(),
  deploy: Deploy.optional(),
  depends_on: z.record(z.string(), Dependency).optional(),
  logging: z.looseObject({ driver: z.string().optional(), options: TextMap.optional() }).optional(),
  ulimits: z.record(z.string(), Limit).optional(),
  extra_hosts: Texts.optional(),
  security_opt: Texts.optional(),
  cap_add: Texts.optional(),
  cap_drop: Texts.optional(),
  profiles: Texts.optional(),
  privileged: Flag.optional(),
  read_only: Flag.optional(),
  init: Flag.optional(),
  scale: z.int().optional(),
  cpus: z.union([z.number(), z.string()]).optional(),
  mem_limit: Text.optional(),
  shm_size: Text.optional(),
  stop_grace_period: z.string().optional(),
  stop_signal: Text.optional(),
  restart: z.string().optional(),
  pull_policy: z.string().optional(),
  user: Text.optional(),
  working_dir: z.string().optional(),
});
export type Service = z.infer<typeof Service>;

const Resource = z.looseObject({
  name: z.string().optional(),
  external: Flag.optional(),
  internal: Flag.optional(),
  driver: z.string().optional(),
  driver_opts: z.looseObject({}).optional(),
});
const Resources = z.record(z.string(), Resource).default({});

const ProjectSchema = z.looseObject({
  name: z.string(),
  services: z.record(z.string(), Service),
  include: z.never().optional(),
  networks: Resources,
  volumes: Resources,
});

/** A Compose project as `docker compose config` writes it. */
export type Project = z.infer<typeof ProjectSchema>;

/**
 * Reads the output of `docker compose config`, as YAML or JSON. Returns null if the text is anything else, such as a Compose
 * file with variables, short forms, or other files that it names.
 */
export function readProject(text: string): Project | null {
  const document = parseDocument(text.replace(/^\ufeff/, ''), { logLevel: 'silent' });
  if (document.errors.length > 0) return null;
  const value = toValue(document);
  if (hasVariable(value)) return null;
  const parsed = ProjectSchema.safeParse(withSingleDollars(withoutNulls(value)));
  return parsed.success ? parsed.data : null;
}

/** Aliases that stand for too much end in an error of the parser. */
function toValue(document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS();
  } catch {
    return null;
  }
}

/** Whether a text has a `$` that is not written twice: Compose would replace what follows. */
function hasVariable(value: unknown): boolean {
  if (typeof value === 'string') return value.replaceAll('$$', '').includes('$');
  if (Array.isArray(value)) return value.some(hasVariable);
  return isMapValue(value) && Object.values(value).some(hasVariable);
}

function withSingleDollars(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll('$$', '$');
  if (Array.isArray(value)) return value.map(withSingleDollars);
  if (!isMapValue(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withSingleDollars(each)]));
}

/** Keys of services and of the project that have no value. Variables without a value stay: Compose would pass them on. */
function withoutNulls(value: unknown): unknown {
  if (!isMapValue(value)) return value;
  const services = value['services'];
  const kept = isMapValue(services)
    ? Object.fromEntries(
        Object.entries(services).map(([name, each]) => [name, isMapValue(each) ? nonNull(each) : each]),
      )
    : services;
  return { ...nonNull(value), services: kept };
}

function nonNull(map: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(map).filter(([, each]) => each !== null));
}
