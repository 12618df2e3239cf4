import { parseSecurityOption } from '../../protocol/fields/security.ts';
import type { AppRecord } from '../../protocol/info.ts';

/** What containers may do without being asked for, in Docker as in Podman. */
const USUAL_CAPABILITIES = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'NET_RAW',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);

/** Logging drivers that write on the device, to a place that the app does not choose. */
const LOCAL_DRIVERS = new Set(['json-file', 'local', 'journald', 'none']);

/**
 * Returns what an app asks for that reaches beyond its containers, as `privileged` does: devices, capabilities that
 * containers do not have by themselves, weaker security modules, and logs that the engine, which is root, sends to sockets
 * and addresses, with files of the device as keys.
 */
export function powersOf({ devices, cap_add, security_opt, logging }: AppRecord): string[] {
  const capabilities = (cap_add ?? []).filter((name) => !USUAL_CAPABILITIES.has(name.replace(/^CAP_/, '')));
  const options = (security_opt ?? []).filter((option) => !isStricter(option));
  const isLogged = logging !== undefined && !LOCAL_DRIVERS.has(logging.driver ?? '');
  const driver = logging?.driver === undefined ? 'options without a driver' : `the driver ${logging.driver}`;
  return [
    ...devices.map((device) => `the device ${device}`),
    ...capabilities.map((name) => `cap_add ${name}`),
    ...options.map((option) => `security_opt ${option.slice(0, 80)}`),
    ...(isLogged ? [`logging with ${driver}; allowed are ${[...LOCAL_DRIVERS].join(', ')}`] : []),
  ];
}

/** Whether an option takes away, whatever the engine does without it. */
function isStricter(option: string): boolean {
  const { key, value } = parseSecurityOption(option);
  return key === 'no-new-privileges' && value === 'true';
}
