import type { App } from '../protocol/app.ts';
import { type Port, type PortMapping, parsePort } from '../protocol/ports.ts';

/** Ports of a device that one entry of `starting_ports` takes, from the first to the last. */
export interface PortClaim extends Pick<PortMapping, 'address' | 'protocol'> {
  index: number;
  first: number;
  last: number;
}

/** Returns the number of an app's containers; of one that devices decide, that of the containers that are sure. */
export function containersOf({ containers_per: { server, instance } }: App): number {
  return server ?? instance ?? 1;
}

/** Returns what an entry takes for so many containers. */
export function portClaim(port: Port, containers: number): Omit<PortClaim, 'index'> {
  const { address, protocol, hostPort } = parsePort(port);
  return { address, protocol, first: hostPort, last: hostPort + containers - 1 };
}

/** Returns, for each claim, one before it with which it has a port in common, of those that may conflict with it. */
export function overlapsOf<C extends PortClaim>(
  claims: readonly C[],
  mayConflict: (one: C, other: C) => boolean,
): [C, C][] {
  const found: [C, C][] = [];
  let open: C[] = [];
  for (const claim of claims.toSorted((a, b) => a.first - b.first || a.index - b.index)) {
    open = open.filter(({ last }) => last >= claim.first);
    const other = open.find((candidate) => mayConflict(candidate, claim) && isConflict(candidate, claim));
    if (other !== undefined) found.push([other, claim]);
    open.push(claim);
  }
  return found;
}

/** Returns the first port that two claims have in common, as users write it: `80`, `53/udp`. */
export function sharedPort(one: PortClaim, other: PortClaim): string {
  return `${Math.max(one.first, other.first)}${one.protocol === 'tcp' ? '' : `/${one.protocol}`}`;
}

function isConflict(one: PortClaim, other: PortClaim): boolean {
  return one.protocol === other.protocol && isShared(one.address, other.address);
}

function isShared(one: string | null, other: string | null): boolean {
  if (one === null || other === null || one === other) return true;
  const areOfOneFamily = one.includes(':') === other.includes(':');
  return areOfOneFamily && [one, other].some((address) => address === '0.0.0.0' || address === '::');
}
