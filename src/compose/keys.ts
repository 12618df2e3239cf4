import type { AppBuilder } from './builder.ts';
import { readCpus, readDeploy, readPullPolicy, readScale, readSize } from './deploy.ts';
import { readGracePeriod, readHealthcheck } from './health.ts';
import { readNetworkMode, readNetworks } from './networks.ts';
import { readPorts } from './ports.ts';
import type { Service } from './project.ts';
import { addTmpfs, readDevices, readVolumes } from './volumes.ts';

/** What becomes of a key of a service. */
interface Key<Value> {
  /** The fields of the app that it becomes, and how, for docs/from-compose.md. */
  becomes: string;
  read(value: Value, builder: AppBuilder): void;
}

/** A value that stays as it is. */
function same(field: string): Key<unknown> {
  return { becomes: `\`${field}\``, read: (value, builder) => builder.set(field, value) };
}

/** Engines read the names of capabilities in any case. */
function capabilities(field: string): Key<string[]> {
  return {
    becomes: `\`${field}\``,
    read: (names, builder) =>
      builder.set(
        field,
        names.map((name) => name.toUpperCase()),
      ),
  };
}

function words(field: string): Key<string[]> {
  return {
    becomes: `\`${field}\``,
    read: (list, builder) => {
      if (list.length > 0) builder.set(field, list);
      else builder.leaveOut(field, `is empty, which cannot be said here: the image's own ${field} stays`);
    },
  };
}

type Keys = { [Name in keyof Service]?: Key<NonNullable<Service[Name]>> };

/** The keys of a service that become fields of an app, in the order in which they are read: of two, the later one wins. */
export const KEYS = {
  image: {
    becomes: '`container_image`',
    read: (image, builder) => builder.set('container_image', image, 'image'),
  },
  ports: {
    becomes:
      '`starting_ports`; a port without one of the host becomes the same on both sides; of a range of the host for one port, the first',
    read: readPorts,
  },
  scale: {
    becomes: '`containers_per: {server: N}`',
    read: (number, builder) => readScale('scale', number, builder),
  },
  environment: { becomes: '`env_vars`, with the variables of `env_file`', read: readEnvironment },
  volumes: {
    becomes:
      '`volumes`: a volume gets the name that Compose gives it (`PROJECT_NAME`), a relative path becomes an absolute one; `type: tmpfs` becomes `tmpfs`',
    read: readVolumes,
  },
  network_mode: {
    becomes: '`networks`: `host`, `none` or `bridge`; with another container, the app gets `running: false`',
    read: readNetworkMode,
  },
  networks: {
    becomes: '`networks`, if they are external; otherwise apps reach one another on `nebula`',
    read: readNetworks,
  },
  devices: { becomes: '`devices`', read: readDevices },
  privileged: same('privileged'),
  command: words('command'),
  entrypoint: words('entrypoint'),
  user: same('user'),
  working_dir: same('working_dir'),
  labels: {
    becomes: '`labels`',
    read: (labels, builder) => builder.set('labels', withTexts(labels)),
  },
  healthcheck: {
    becomes: '`healthcheck`: durations in whole seconds, rounded up; `disable: true` is `test: [NONE]`',
    read: readHealthcheck,
  },
  cpus: { becomes: '`cpus`', read: readCpus },
  mem_limit: { becomes: '`memory`', read: (text, builder) => readSize('memory', text, builder) },
  shm_size: { becomes: '`shm_size`', read: (text, builder) => readSize('shm_size', text, builder) },
  read_only: same('read_only'),
  tmpfs: { becomes: '`tmpfs`', read: addTmpfs },
  cap_add: capabilities('cap_add'),
  cap_drop: capabilities('cap_drop'),
  security_opt: { becomes: '`security_opt`', read: readSecurityOptions },
  ulimits: same('ulimits'),
  extra_hosts: {
    becomes: '`extra_hosts`',
    read: (hosts, builder) =>
      builder.set(
        'extra_hosts',
        hosts.map((host) => host.replace('=', ':')),
      ),
  },
  init: same('init'),
  stop_signal: same('stop_signal'),
  stop_grace_period: {
    becomes: '`stop_grace_period` in whole seconds, rounded up',
    read: readGracePeriod,
  },
  restart: {
    becomes: '`restart`; `always` is `unless-stopped`, and so is none',
    // No limit is 0 for engines, and no number here.
    read: (text, builder) => builder.set('restart', text.replace(/^on-failure:0$/, 'on-failure')),
  },
  logging: { becomes: '`logging`', read: readLogging },
  pull_policy: {
    becomes: '`pull_policy`: `always` or `missing`; none is `always` here',
    read: readPullPolicy,
  },
  deploy: {
    becomes:
      '`replicas`: `containers_per`; `resources.limits`: `cpus` and `memory`; `restart_policy`: `restart`; the rest is left out',
    read: readDeploy,
  },
  profiles: {
    becomes: '`running: false`, since Compose starts the service on demand only',
    read: readProfiles,
  },
} satisfies Keys;

/** Reads the keys of a service that become fields. */
export function readKeys(service: Service, builder: AppBuilder): void {
  for (const [name, key] of Object.entries(KEYS as Record<string, Key<never>>)) {
    const value = service[name];
    if (value !== undefined) key.read(value as never, builder);
  }
}

const NOT_SET = 'takes its value from the environment, where it is not set; set it, or write NAME=value';

function readEnvironment(variables: Readonly<Record<string, string | null>>, builder: AppBuilder): void {
  for (const [name, value] of Object.entries(variables))
    if (value === null) builder.leaveOut(`environment.${name}`, NOT_SET);
  const set = Object.entries(variables).filter(([, value]) => value !== null);
  if (set.length > 0) builder.set('env_vars', Object.fromEntries(set), 'environment');
}

function withTexts(map: Readonly<Record<string, string | null>>): Record<string, string> {
  return Object.fromEntries(Object.entries(map).map(([name, text]) => [name, text ?? '']));
}

function readSecurityOptions(options: readonly string[], builder: AppBuilder): void {
  const known = options.filter((option) =>
    /^(no-new-privileges|apparmor|label|seccomp)([:=]|$)/.test(option),
  );
  options.forEach((option, index) => {
    if (!known.includes(option)) builder.leaveOut(`security_opt[${index}]`, 'has no counterpart here');
  });
  builder.set('security_opt', known);
}

function readLogging(logging: NonNullable<Service['logging']>, builder: AppBuilder): void {
  builder.leaveOthersOut(logging, 'logging', ['driver', 'options']);
  const { driver, options } = logging;
  builder.set('logging', {
    ...(driver === undefined ? {} : { driver }),
    ...(options === undefined ? {} : { options: withTexts(options) }),
  });
}

function readProfiles(profiles: readonly string[], builder: AppBuilder): void {
  if (profiles.length === 0) return;
  builder.set('running', false);
  builder.check(
    'profiles',
    'are for starts on demand, so the app has `running: false`; start it where it is wanted',
  );
}
