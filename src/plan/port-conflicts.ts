import { fileProblem, type Problem, withFile } from '../desired/problem.ts';
import type { DesiredObject, DesiredState } from '../desired/state.ts';
import type { App } from '../protocol/app.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import { parseKey } from '../protocol/name.ts';
import { type PortMapping, parsePort } from '../protocol/ports.ts';

/** Ports of a device that an app takes with one entry of its `starting_ports`. */
interface Claim extends Pick<PortMapping, 'address' | 'protocol'> {
  app: string;
  /** The place of the app in the group's list. */
  index: number;
  first: number;
  last: number;
}

/**
 * Returns a warning for each app of a group that takes a port of the device which an app before it in the list takes, too.
 * Apps that are stopped, or whose files are invalid, take none. How many containers `cpu` and `memory` give is known to
 * devices alone: of such an app, only the port of the first container counts.
 */
export function portConflicts(desired: DesiredState): Problem[] {
  return [...desired.keys()].flatMap((key) => {
    const { kind, name } = parseKey(key);
    const group = kind === 'device_group' ? desired.group(name) : undefined;
    return group?.content === undefined ? [] : conflictsOf(group, group.content, desired);
  });
}

function conflictsOf(file: DesiredObject<DeviceGroup>, group: DeviceGroup, desired: DesiredState): Problem[] {
  const claims = group.apps.flatMap((name, index) => claimsOf(name, index, desired.app(name)?.content));
  claims.sort((a, b) => a.first - b.first || a.index - b.index);
  const found: Problem[] = [];
  let open: Claim[] = [];
  for (const claim of claims) {
    open = open.filter(({ last }) => last >= claim.first);
    const other = open.find((candidate) => isConflict(candidate, claim));
    if (other !== undefined) found.push(conflictProblem(file, other, claim));
    open.push(claim);
  }
  return found;
}

function claimsOf(app: string, index: number, content: App | undefined): Claim[] {
  if (content === undefined || !content.running) return [];
  const { server, instance } = content.containers_per;
  const containers = server ?? instance ?? 1;
  return content.starting_ports.map((port) => {
    const { address, protocol, hostPort } = parsePort(port);
    return { app, index, address, protocol, first: hostPort, last: hostPort + containers - 1 };
  });
}

function isConflict(one: Claim, other: Claim): boolean {
  return one.app !== other.app && one.protocol === other.protocol && isShared(one.address, other.address);
}

function isShared(one: string | null, other: string | null): boolean {
  if (one === null || other === null || one === other) return true;
  const areOfOneFamily = one.includes(':') === other.includes(':');
  return areOfOneFamily && [one, other].some((address) => address === '0.0.0.0' || address === '::');
}

/** Places the problem at the app that comes later in the list. */
function conflictProblem(file: DesiredObject<DeviceGroup>, one: Claim, other: Claim): Problem {
  const [earlier, later] = one.index < other.index ? [one, other] : [other, one];
  const port = `${Math.max(one.first, other.first)}${one.protocol === 'tcp' ? '' : `/${one.protocol}`}`;
  const message = `app "${later.app}" takes port ${port} of the device, as does app "${earlier.app}"; only one of them can start`;
  const position = file.memberPositions[later.index] ?? fileProblem('port-conflict', '');
  return withFile(file.path, { ...position, code: 'port-conflict', message }, 'warning');
}
