import { parseByteSize } from '../../protocol/fields/byte-size.ts';
import type { Healthcheck } from '../../protocol/fields/healthcheck.ts';
import { ulimitValues } from '../../protocol/fields/limits.ts';
import { restartPolicy } from '../../protocol/fields/restart.ts';
import { parseSecurityOption } from '../../protocol/fields/security.ts';
import { parseExtraHost } from '../../protocol/fields/surroundings.ts';
import type { AppRecord } from '../../protocol/info.ts';
import { type Port, parsePort } from '../../protocol/ports.ts';
import { isAlone } from '../plan/networks.ts';
import type { ContainerSpec } from './engine.ts';
import { exactReference } from './references.ts';

/**
 * Returns how a container of an app joins a network: on those of users, nebula among them, by the name of the app, so that
 * apps find one another. Engines refuse that on their own networks.
 */
export function endpointOf(network: string | undefined, app: string): { Aliases: string[] } | undefined {
  const isOfEngine = network === undefined || network === 'bridge' || isAlone(network);
  return isOfEngine ? undefined : { Aliases: [app] };
}

/**
 * Returns the body that creates a container. It is in the first of its networks alone, since engines below API 1.44 take
 * only one; the others are joined before it starts. What is undefined here is as the image says.
 */
export function createBody(spec: ContainerSpec) {
  const { record } = spec;
  const [network = ''] = spec.networks;
  const endpoint = endpointOf(network, record.app_name);
  const ports = portsOf(record.starting_ports, spec.slot);
  return {
    Image: exactReference(spec.image),
    Env: Object.entries(record.env_vars).map(([name, value]) => `${name}=${value}`),
    Labels: { ...record.labels, ...spec.labels },
    ExposedPorts: Object.fromEntries(Object.keys(ports).map((port) => [port, {}])),
    Cmd: record.command,
    Entrypoint: record.entrypoint,
    User: record.user,
    WorkingDir: record.working_dir,
    StopSignal: record.stop_signal,
    StopTimeout: record.stop_grace_period,
    Healthcheck: record.healthcheck && healthcheckOf(record.healthcheck),
    NetworkingConfig: endpoint && { EndpointsConfig: { [network]: endpoint } },
    HostConfig: {
      NetworkMode: spec.networks[0],
      PortBindings: ports,
      Binds: record.volumes,
      Devices: record.devices.map(deviceOf),
      Privileged: record.privileged,
      RestartPolicy: restartPolicyOf(record.restart),
      ...limitsOf(record),
      ReadonlyRootfs: record.read_only,
      Tmpfs: record.tmpfs && Object.fromEntries(record.tmpfs.map(tmpfsOf)),
      CapAdd: record.cap_add,
      CapDrop: record.cap_drop,
      SecurityOpt: record.security_opt?.map(securityOptionOf),
      ExtraHosts: record.extra_hosts?.map(extraHostOf),
      Init: record.init,
      LogConfig: record.logging && {
        Type: record.logging.driver ?? '',
        Config: record.logging.options ?? {},
      },
    },
  };
}

function restartPolicyOf(restart: string | undefined) {
  const { when, most } = restartPolicy(restart);
  if (when === 'never') return { Name: 'no' };
  return when === 'always'
    ? { Name: 'unless-stopped' }
    : { Name: 'on-failure', MaximumRetryCount: most ?? 0 };
}

const NANO = 1e9;

function limitsOf({ memory, cpus, shm_size, ulimits }: AppRecord) {
  return {
    Memory: memory === undefined ? undefined : parseByteSize(memory),
    NanoCpus: cpus === undefined ? undefined : Math.round(cpus * NANO),
    ShmSize: shm_size === undefined ? undefined : parseByteSize(shm_size),
    Ulimits:
      ulimits &&
      Object.entries(ulimits).flatMap(([name, limit]) => {
        if (limit === undefined) return [];
        const { soft, hard } = ulimitValues(limit);
        return [{ Name: name, Soft: soft, Hard: hard }];
      }),
  };
}

/** Times in nanoseconds. What is undefined is as the image's check says. */
function healthcheckOf({ test, interval, timeout, retries, start_period }: Healthcheck) {
  const nanoseconds = (seconds: number | undefined) => (seconds === undefined ? undefined : seconds * NANO);
  return {
    Test: typeof test === 'string' ? ['CMD-SHELL', test] : test,
    Interval: nanoseconds(interval),
    Timeout: nanoseconds(timeout),
    Retries: retries,
    StartPeriod: nanoseconds(start_period),
  };
}

function tmpfsOf(entry: string): [path: string, options: string] {
  const [path = '', options = ''] = entry.split(':');
  return [path, options];
}

/** Engines take the colon of older versions of Compose only with a warning. */
function securityOptionOf(option: string): string {
  const { key, value } = parseSecurityOption(option);
  return `${key}=${value}`;
}

function extraHostOf(entry: string): string {
  const { name, address } = parseExtraHost(entry);
  return `${name}:${address}`;
}

/** Ports of the container with the ports of the machine by which they are reached, which count up with the slot. */
function portsOf(
  ports: readonly Port[],
  slot: number,
): Record<string, { HostIp: string; HostPort: string }[]> {
  const bindings: ReturnType<typeof portsOf> = {};
  for (const port of ports) {
    const { address, hostPort, containerPort, protocol } = parsePort(port);
    const key = `${containerPort}/${protocol}`;
    const binding = { HostIp: address ?? '', HostPort: `${hostPort + slot - 1}` };
    bindings[key] = [...(bindings[key] ?? []), binding];
  }
  return bindings;
}

function deviceOf(device: string) {
  const [host = '', container = host, permissions = 'rwm'] = device.split(':');
  return { PathOnHost: host, PathInContainer: container, CgroupPermissions: permissions };
}
