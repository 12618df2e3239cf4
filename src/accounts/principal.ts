/** What somebody may do. Each role may do what those before it may; `device` stands beside them. */
const ROLES = ['viewer', 'operator', 'editor', 'admin'] as const;
export type Role = (typeof ROLES)[number] | 'device';

/** Who a request comes from. */
export interface Principal {
  name: string;
  /** The address for commits. */
  email: string;
  roles: readonly Role[];
}

/** What a request does: each route has one. */
export type Action = keyof typeof NEEDS;

/** The role that each action needs, and whether devices may do it. */
const NEEDS = {
  /** Reads the fleet, its history or the manager. */
  read: { role: 'viewer', isForDevices: false },
  /** Changes what runs without changing configuration: restart, prune, start, stop, a look at origin. */
  operate: { role: 'operator', isForDevices: false },
  /** Changes configuration. */
  edit: { role: 'editor', isForDevices: false },
  /** Asks what a device should run, and whether the manager is there. */
  poll: { role: 'viewer', isForDevices: true },
  /** Says how a device is. */
  report: { role: 'admin', isForDevices: true },
} as const satisfies Record<string, { role: Exclude<Role, 'device'>; isForDevices: boolean }>;

/** Whether a principal may do something. No other code decides this. */
export function authorize({ roles }: Principal, action: Action): boolean {
  const { role: needed, isForDevices } = NEEDS[action];
  return roles.some((role) =>
    role === 'device' ? isForDevices : ROLES.indexOf(role) >= ROLES.indexOf(needed),
  );
}

/** Whether somebody is a device and nothing else: one of many, whose account was given to each of them. */
export function isDevice({ roles }: Principal): boolean {
  return roles.every((role) => role === 'device');
}

/** Whether devices may do something. */
export function isForDevices(action: Action): boolean {
  return NEEDS[action].isForDevices;
}
