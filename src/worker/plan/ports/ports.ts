import type { AppRecord } from '../../../protocol/info.ts';
import { parsePort } from '../../../protocol/ports.ts';
import type { Good } from '../memory.ts';
import type { Actual, HostPort } from '../model.ts';
import { isAlone } from '../networks.ts';

/** Returns the ports of the machine that a container takes: none on the network of the machine. Those of one app count up with the slot. */
export function portsOf(record: AppRecord, slot: number): HostPort[] {
  if (isAlone(record.networks[0])) return [];
  return record.starting_ports.map(parsePort).map(({ address, hostPort, protocol }) => ({
    address,
    port: hostPort + slot - 1,
    protocol,
  }));
}

/** Returns the ports of the machine that all containers of an app take. */
export function portsOfAll(record: AppRecord, count: number): HostPort[] {
  return Array.from({ length: count }, (_, index) => portsOf(record, index + 1)).flat();
}

/** Whether the version of an app that was good last could have its ports again. */
export function isWayBackFree(app: string, good: Good | null, { containers }: Actual): boolean {
  if (good?.record == null) return true;
  const taken = containers.flatMap((container) => (container.app === app ? [] : container.ports));
  return sharedPort(portsOfAll(good.record, good.count), taken) === null;
}

const EVERYWHERE = new Set([null, '', '0.0.0.0', '::']);

/** Whether two containers cannot hold these ports at once. */
function isSame(a: HostPort, b: HostPort): boolean {
  if (a.port !== b.port || a.protocol !== b.protocol) return false;
  return a.address === b.address || EVERYWHERE.has(a.address) || EVERYWHERE.has(b.address);
}

/** Returns the first port that stands on both lists; null if there is none. */
export function sharedPort(a: readonly HostPort[], b: readonly HostPort[]): HostPort | null {
  if (a.length === 0 || b.length === 0) return null;
  return a.find((port) => b.some((other) => isSame(port, other))) ?? null;
}

/** Returns a port as people write it: `8080`, `127.0.0.1:8080`, `53/udp`. */
export function portText({ address, port, protocol }: HostPort): string {
  const host = EVERYWHERE.has(address) ? '' : `${address?.includes(':') ? `[${address}]` : address}:`;
  return `${host}${port}${protocol === 'tcp' ? '' : `/${protocol}`}`;
}
