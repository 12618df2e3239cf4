import { type Port, parsePort } from '../../protocol/ports.ts';
import type { ContainerSpec } from './engine.ts';
import { exactReference } from './references.ts';

/** Whether a network is a mode that a container cannot combine with networks. */
export function isAlone(network: string): boolean {
  return network === 'host' || network === 'none';
}

/** Returns the networks that a container joins, in order: a first one of `host` or `none` stands alone. */
export function networksOf({ networks }: ContainerSpec): readonly string[] {
  const [first] = networks;
  return first !== undefined && isAlone(first) ? [first] : networks;
}

/**
 * Returns the body that creates a container. It is in the first of its networks alone, since engines below API 1.44 take
 * only one; the others are joined before it starts. What is undefined here is as the image says.
 */
export function createBody(spec: ContainerSpec, product: string) {
  const { record } = spec;
  const ports = portsOf(record.starting_ports, spec.slot);
  return {
    Image: exactReference(spec.image),
    Env: Object.entries(record.env_vars).map(([name, value]) => `${name}=${value}`),
    Labels: spec.labels,
    ExposedPorts: Object.fromEntries(Object.keys(ports).map((port) => [port, {}])),
    HostConfig: {
      NetworkMode: networksOf(spec)[0],
      PortBindings: ports,
      Binds: record.volumes,
      Devices: record.devices.map(deviceOf),
      Privileged: record.privileged,
      RestartPolicy: { Name: restartPolicy(product) },
    },
  };
}

/** Podman restarts without a pause; there the worker alone restarts what ended. */
function restartPolicy(product: string): string {
  return product === 'podman' ? 'no' : 'unless-stopped';
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
