import type { ProblemCode } from '../desired/problem.ts';
import type { App } from '../protocol/app.ts';
import { tmpfsTarget } from '../protocol/fields/surroundings.ts';
import { mountTarget } from '../protocol/mount.ts';
import { containersOf, overlapsOf, portClaim, sharedPort } from './port-claims.ts';

/** What fields of an app contradict, and the entry that is to change. */
export interface OwnConflict {
  path: readonly [field: string, index: number];
  code: ProblemCode;
  message: string;
}

/**
 * Returns what engines refuse in an app although each of its values is valid: a port of the device that it takes twice, and
 * a target of two mounts. These are warnings, because such apps were valid before they were found.
 */
export function ownConflicts(app: App): OwnConflict[] {
  return [...portsTakenTwice(app), ...mountConflicts(app)];
}

function portsTakenTwice(app: App): OwnConflict[] {
  const containers = containersOf(app);
  const claims = app.starting_ports.map((port, index) => ({ index, ...portClaim(port, containers) }));
  const why = containers === 1 ? '' : `, since ports count up with its ${containers} containers`;
  return overlapsOf(claims, () => true).map(([one, other]) => {
    const [earlier, later] = one.index < other.index ? [one, other] : [other, one];
    const both = `starting_ports[${later.index}] takes port ${sharedPort(one, other)} of the device, as does starting_ports[${earlier.index}]`;
    const message = `${both}${why}; its containers cannot all start`;
    return { path: ['starting_ports', later.index], code: 'port-conflict', message };
  });
}

function mountConflicts({ volumes, tmpfs = [] }: App): OwnConflict[] {
  const mounts = [
    ...volumes.map((mount, index) => ({ path: ['volumes', index] as const, target: mountTarget(mount) })),
    ...tmpfs.map((entry, index) => ({ path: ['tmpfs', index] as const, target: tmpfsTarget(entry) })),
  ];
  const owners = new Map<string, string>();
  return mounts.flatMap(({ path, target }): OwnConflict[] => {
    const name = `${path[0]}[${path[1]}]`;
    const owner = owners.get(target);
    owners.set(target, owner ?? name);
    const code = 'mount-conflict';
    if (target === '/')
      return [{ path, code, message: `${name} has the root as its target; engines refuse that` }];
    if (owner === undefined) return [];
    const message = `${name} has the same target as ${owner}, and a container has one mount for each; remove one of them`;
    return [{ path, code, message }];
  });
}
