import { parseSecurityOption } from '../../../protocol/fields/security.ts';
import type { AppRecord } from '../../../protocol/info.ts';

/** What containers may do without being asked for. */
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

/** Limits that give what SYS_NICE and IPC_LOCK do: time of the processors before all others, and memory that stays. */
const POWERFUL_LIMITS = ['memlock', 'nice', 'rtprio', 'rttime'] as const;

/** Logging drivers that write on the device, to a place that the app does not choose. */
const LOCAL_DRIVERS = new Set(['json-file', 'local', 'journald', 'none']);
/** How much memory of the engine itself the output of a container may fill. */
const BUFFER_OPTION = 'max-buffer-size';

/**
 * Returns what an app asks for that reaches beyond its containers, as `privileged` does: devices, capabilities that
 * containers do not have by themselves, limits that are as strong, weaker security modules, and logs that the engine, which is root, sends to sockets
 * and addresses, with files of the device as keys.
 */
export function powersOf({ devices, cap_add, security_opt, ulimits, logging }: AppRecord): string[] {
  const capabilities = (cap_add ?? []).filter((name) => !USUAL_CAPABILITIES.has(name.replace(/^CAP_/, '')));
  const options = (security_opt ?? []).filter((option) => !isStricter(option));
  const limits = POWERFUL_LIMITS.filter((name) => ulimits?.[name] !== undefined);
  return [
    ...devices.map((device) => `the device ${device}`),
    ...capabilities.map((name) => `cap_add ${name}`),
    ...options.map((option) => `security_opt ${option.slice(0, 80)}`),
    ...limits.map((name) => `ulimits.${name}`),
    ...(logging === undefined ? [] : powersOfLogging(logging)),
  ];
}

function powersOfLogging({ driver, options = {} }: NonNullable<AppRecord['logging']>): string[] {
  const allowed = `allowed are ${[...LOCAL_DRIVERS].join(', ')}`;
  if (driver === undefined) return [`logging with options without a driver; ${allowed}`];
  if (!LOCAL_DRIVERS.has(driver)) return [`logging with the driver ${driver}; ${allowed}`];
  return BUFFER_OPTION in options ? [`logging with the option ${BUFFER_OPTION}`] : [];
}

/** Whether an option takes away, whatever the engine does without it. */
function isStricter(option: string): boolean {
  const { key, value } = parseSecurityOption(option);
  return key === 'no-new-privileges' && value === 'true';
}
