import type { AppBuilder } from './builder.ts';
import { readCpus, readDeploy, readPullPolicy, readRestart, readScale, readSize } from './deploy.ts';
import { readGracePeriod, readHealthcheck } from './health.ts';
import { readNetworkMode, readNetworks } from './networks.ts';
import { readExtraHosts, readLogging, readSecurityOptions, readUlimits } from './options.ts';
import { readPorts } from './ports.ts';
import type { Tree } from './tree.ts';
import { booleanOf, namedTexts, textOf, textsOf } from './values.ts';
import { readDevices, readTmpfs, readVolumes } from './volumes.ts';
import { readWords } from './words.ts';

/** What becomes of a key of a service. */
interface Key {
  /** The fields of the app that it becomes, and how, for docs/from-compose.md. */
  becomes: string;
  read(tree: Tree, builder: AppBuilder): void;
}

function text(field: string): Key {
  return {
    becomes: `\`${field}\``,
    read: (tree, builder) => builder.set(field, textOf(tree, field, builder), tree),
  };
}

/** Engines read the names of capabilities in any case. */
function capabilities(field: string): Key {
  const read: Key['read'] = (tree, builder) =>
    builder.set(
      field,
      textsOf(tree, field, builder).map((name) => name.toUpperCase()),
      tree,
    );
  return { becomes: `\`${field}\``, read };
}

function flag(field: string): Key {
  return {
    becomes: `\`${field}\``,
    read: (tree, builder) => builder.set(field, booleanOf(tree, field, builder), tree),
  };
}

/** Done by `readEnvironment`, which reads both keys together. */
const ENVIRONMENT = { read: () => undefined };

/** The keys of a service that become fields of an app, in the order in which they are read: of two, the later one wins. */
export const KEYS: Readonly<Record<string, Key>> = {
  image: {
    becomes: '`container_image`',
    read: (tree, builder) => builder.set('container_image', textOf(tree, 'image', builder), tree),
  },
  ports: {
    becomes:
      '`starting_ports`: ranges become pairs; a port without one of the host becomes the same on both sides; of a range of the host for one port, the first',
    read: readPorts,
  },
  scale: {
    becomes: '`containers_per: {server: N}`',
    read: (tree, builder) => readScale('scale', tree, builder),
  },
  environment: { becomes: '`env_vars`', ...ENVIRONMENT },
  env_file: { becomes: '`env_vars`: what the files say; `environment` wins', ...ENVIRONMENT },
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
  privileged: flag('privileged'),
  command: {
    becomes: '`command`: a text is split into words as Compose does',
    read: (tree, builder) => readWords('command', tree, builder),
  },
  entrypoint: {
    becomes: '`entrypoint`, likewise',
    read: (tree, builder) => readWords('entrypoint', tree, builder),
  },
  user: text('user'),
  working_dir: text('working_dir'),
  labels: {
    becomes: '`labels`',
    read: (tree, builder) => {
      const labels = namedTexts(tree, 'labels', builder).map(({ name, text: value }) => [name, value ?? '']);
      builder.set('labels', Object.fromEntries(labels), tree);
    },
  },
  healthcheck: {
    becomes: '`healthcheck`: durations in whole seconds, rounded up; `disable: true` is `test: [NONE]`',
    read: readHealthcheck,
  },
  cpus: { becomes: '`cpus`', read: (tree, builder) => readCpus('cpus', tree, builder) },
  mem_limit: { becomes: '`memory`', read: (tree, builder) => readSize('memory', 'mem_limit', tree, builder) },
  shm_size: {
    becomes: '`shm_size`',
    read: (tree, builder) => readSize('shm_size', 'shm_size', tree, builder),
  },
  read_only: flag('read_only'),
  tmpfs: { becomes: '`tmpfs`', read: readTmpfs },
  cap_add: capabilities('cap_add'),
  cap_drop: capabilities('cap_drop'),
  security_opt: { becomes: '`security_opt`', read: readSecurityOptions },
  ulimits: { becomes: '`ulimits`', read: readUlimits },
  extra_hosts: { becomes: '`extra_hosts`', read: readExtraHosts },
  init: flag('init'),
  stop_signal: text('stop_signal'),
  stop_grace_period: {
    becomes: '`stop_grace_period` in whole seconds, rounded up',
    read: readGracePeriod,
  },
  restart: {
    becomes: '`restart`; `always` is `unless-stopped`, and so is none',
    read: readRestart,
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
    read: (tree, builder) => {
      if (textsOf(tree, 'profiles', builder).length === 0) return;
      builder.set('running', false, tree);
      builder.check(
        'profiles',
        tree,
        'are for starts on demand, so the app has `running: false`; start it where it is wanted',
      );
    },
  },
};
