import { NAME_PATTERN, type ObjectKey } from '../protocol/name.ts';

/** What somebody may do. Each role may do what those before it may; `device` and `webhook` stand beside them. */
const ROLES = ['viewer', 'operator', 'editor', 'admin'] as const;
type Rank = (typeof ROLES)[number];
export type Role = Rank | 'device' | 'webhook';

/** Who a request comes from. */
export interface Principal {
  name: string;
  /** The address for commits. */
  email: string;
  roles: readonly Role[];
  /** The name of the device, if it is one (`asDevice`). */
  device?: string;
}

/** What a request does: each route has one. */
export type Action = keyof typeof NEEDS;

/** The role that each action needs, and the role beside those that may do it, if any. */
const NEEDS = {
  /** Reads the fleet, its history or the manager. */
  read: { role: 'viewer', also: null },
  /** Changes what runs without changing configuration: restart, prune, start, stop, a look at origin. */
  operate: { role: 'operator', also: null },
  /** Changes configuration. */
  edit: { role: 'editor', also: null },
  /** Asks what a device should run, and whether the manager is there. */
  poll: { role: 'viewer', also: 'device' },
  /** Says how a device is. */
  report: { role: 'admin', also: 'device' },
  /** Says that origin has changed. */
  notify: { role: 'operator', also: 'webhook' },
} as const satisfies Record<string, { role: Rank; also: Exclude<Role, Rank> | null }>;

/** Whether a principal may do something to these objects; none if the path names none. No other code decides this. */
export function authorize({ roles }: Principal, action: Action, _objects: readonly ObjectKey[]): boolean {
  const { role: needed, also } = NEEDS[action];
  const lowest = ROLES.indexOf(needed);
  return roles.some((role) => role === also || ROLES.indexOf(role as Rank) >= lowest);
}

/** Whether somebody is a device and nothing else: one of many, whose account was given to each of them. */
export function isDevice({ roles }: Principal): boolean {
  return roles.every((role) => role === 'device');
}

/**
 * Returns who somebody is that says a name of a device, in `Holdfast-Device`. Many devices share an account, so it is a
 * device of any name; what is no name is ignored.
 */
export function asDevice(principal: Principal, name: string | undefined): Principal {
  if (name === undefined || !NAME_PATTERN.test(name)) return principal;
  // To spread the principal would take each poll half a microsecond.
  const { email, roles } = principal;
  return { name: principal.name, email, roles, device: name };
}

/** Whether devices may do something. */
export function isForDevices(action: Action): boolean {
  return NEEDS[action].also === 'device';
}

/** Who sends the calls of the webhook that are signed with its secret. */
export const FORGE: Principal = { name: 'webhook', email: 'webhook@holdfast.invalid', roles: ['webhook'] };
