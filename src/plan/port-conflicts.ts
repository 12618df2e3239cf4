import { fileProblem, type Problem, withFile } from '../desired/problem.ts';
import type { DesiredObject, DesiredState } from '../desired/state.ts';
import type { App } from '../protocol/app.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import { parseKey } from '../protocol/name.ts';
import { containersOf, overlapsOf, type PortClaim, portClaim, sharedPort } from './port-claims.ts';

/** Ports of a device that an app takes with one entry of its `starting_ports`. */
interface Claim extends PortClaim {
  app: string;
  /** The place of the app in the group's list. */
  index: number;
}

/**
 * Returns a warning for each app of a group that takes a port of the device which an app before it in the list also takes.
 * Apps that are stopped, or whose files are invalid, take none. How many containers `cpu` and `memory` give is known to
 * devices alone: of such an app, only the port of the first container counts.
 */
export function portConflicts(desired: DesiredState): Problem[] {
  return [...desired.keys()].flatMap((key) => portConflictsAt(key, desired));
}

/** `portConflicts` of the object with this key; none for an app. */
export function portConflictsAt(key: string, desired: DesiredState): Problem[] {
  const { kind, name } = parseKey(key);
  const group = kind === 'device_group' ? desired.group(name) : undefined;
  return group?.content === undefined ? [] : conflictsOf(group, group.content, desired);
}

function conflictsOf(file: DesiredObject<DeviceGroup>, group: DeviceGroup, desired: DesiredState): Problem[] {
  const claims = group.apps.flatMap((name, index) => claimsOf(name, index, desired.app(name)?.content));
  return overlapsOf(claims, (one, other) => one.app !== other.app).map(([one, other]) =>
    conflictProblem(file, one, other),
  );
}

function claimsOf(app: string, index: number, content: App | undefined): Claim[] {
  if (content === undefined || !content.running) return [];
  const containers = containersOf(content);
  return content.starting_ports.map((port) => ({ app, index, ...portClaim(port, containers) }));
}

/** Places the problem at the app that comes later in the list. */
function conflictProblem(file: DesiredObject<DeviceGroup>, one: Claim, other: Claim): Problem {
  const [earlier, later] = one.index < other.index ? [one, other] : [other, one];
  const message = `app "${later.app}" takes port ${sharedPort(one, other)} of the device, as does app "${earlier.app}"; only one of them can start`;
  const position = file.memberPositions[later.index] ?? fileProblem('port-conflict', '');
  return withFile(file.path, { ...position, code: 'port-conflict', message }, 'warning');
}
