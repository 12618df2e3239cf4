import * as z from 'zod';
import { isMapValue } from './values.ts';

const PROTOCOLS = ['tcp', 'udp', 'sctp'] as const;

/** A port of a container, and the port of the device by which it can be reached. */
export interface PortMapping {
  /** The address of the device on which it listens, without brackets; null for all of them. */
  address: string | null;
  hostPort: number;
  containerPort: number;
  protocol: (typeof PROTOCOLS)[number];
}

/** A port from 1 to 65535 in decimal digits. */
const PORT = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])';
const BYTE = '(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)';
const ADDRESS = `${BYTE}(?:\\.${BYTE}){3}|\\[[0-9A-Fa-f:.]+\\]`;
const HOST_SIDE = new RegExp(`^(?:(${ADDRESS}):)?(${PORT})$`);
const CONTAINER_SIDE = new RegExp(`^(${PORT})(?:/(${PROTOCOLS.join('|')}))?$`);

const RULE = 'must be a port from 1 to 65535, or one pair of ports in quotes such as {"8080": "80"}';

const HostSide = z
  .string()
  .regex(HOST_SIDE, { error: RULE })
  .refine((side) => hasValidAddress(side), { error: RULE });
const Pair = z
  .record(HostSide, z.string().regex(CONTAINER_SIDE, { error: RULE }))
  .refine((pair) => Object.keys(pair).length === 1, { error: RULE })
  .meta({ id: 'PortPair', minProperties: 1, maxProperties: 1 });

/**
 * A port of the container, or one `{"host": "container"}` pair. The host's side may have an address before it
 * (`127.0.0.1:8080`, `[::1]:8080`), the container's side a protocol behind it (`53/udp`).
 */
export const Port = z
  .union([z.int({ error: RULE, abort: true }).min(1, RULE).max(65535, RULE), Pair], {
    error: ({ input }) => RULE + hintFor(input),
  })
  .meta({ id: 'Port' });
export type Port = z.infer<typeof Port>;

/** Returns what a valid entry of `starting_ports` stands for. A single number is the port on both sides. */
export function parsePort(port: Port): PortMapping {
  if (typeof port === 'number')
    return { address: null, hostPort: port, containerPort: port, protocol: 'tcp' };
  const [[host, container] = ['', '']] = Object.entries(port);
  const [, address, hostPort] = HOST_SIDE.exec(host) ?? [];
  const [, containerPort, protocol = 'tcp'] = CONTAINER_SIDE.exec(container) ?? [];
  return {
    address: address?.replace(/^\[|\]$/g, '') ?? null,
    hostPort: Number(hostPort),
    containerPort: Number(containerPort),
    protocol: protocol as PortMapping['protocol'],
  };
}

function hasValidAddress(side: string): boolean {
  const [, address] = /^\[(.*)\]:/.exec(side) ?? [];
  return address === undefined || z.ipv6().safeParse(address).success;
}

/** A hint for frequent mistakes: quotes, a pair as in Docker (`8080:80`), a protocol on the wrong side, a range. */
function hintFor(input: unknown): string {
  if (isMapValue(input)) return hintForPair(Object.entries(input));
  if (typeof input !== 'string') return '';
  if (/^\d+$/.test(input) && HOST_SIDE.test(input)) return '; write a single port without quotes';
  const [, port, container = port] = /^(\d+)(?::(\d+))?\/[a-z]+$/.exec(input) ?? [];
  if (port !== undefined) return `; write {"${port}": "${container}/udp"} for udp`;
  return /:\d+$/.test(input) ? '; put each of the two ports in its own quotes' : '';
}

function hintForPair(entries: readonly [string, unknown][]): string {
  if (entries.some(([, port]) => typeof port === 'number'))
    return '; put each of the two ports in its own quotes';
  const [[host, container] = ['', '']] = entries;
  if (host.includes('/'))
    return `; the protocol belongs to the port of the container, as in {"53": "53/udp"}`;
  if (/\d-\d/.test(`${host} ${container}`)) return '; write each port of a range as a pair of its own';
  return host.includes(':') ? '; before the port of the host comes an IP address, an IPv6 address in []' : '';
}
