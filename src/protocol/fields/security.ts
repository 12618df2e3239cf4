import * as z from 'zod';
import { NUL, Text } from '../text.ts';

/** The capabilities of Linux (capabilities(7)). */
const CAPABILITIES = [
  'ALL',
  'AUDIT_CONTROL',
  'AUDIT_READ',
  'AUDIT_WRITE',
  'BLOCK_SUSPEND',
  'BPF',
  'CHECKPOINT_RESTORE',
  'CHOWN',
  'DAC_OVERRIDE',
  'DAC_READ_SEARCH',
  'FOWNER',
  'FSETID',
  'IPC_LOCK',
  'IPC_OWNER',
  'KILL',
  'LEASE',
  'LINUX_IMMUTABLE',
  'MAC_ADMIN',
  'MAC_OVERRIDE',
  'MKNOD',
  'NET_ADMIN',
  'NET_BIND_SERVICE',
  'NET_BROADCAST',
  'NET_RAW',
  'PERFMON',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYSLOG',
  'SYS_ADMIN',
  'SYS_BOOT',
  'SYS_CHROOT',
  'SYS_MODULE',
  'SYS_NICE',
  'SYS_PACCT',
  'SYS_PTRACE',
  'SYS_RAWIO',
  'SYS_RESOURCE',
  'SYS_TIME',
  'SYS_TTY_CONFIG',
  'WAKE_ALARM',
];
const CAPABILITY = new RegExp(`^(?:CAP_)?(?:${CAPABILITIES.join('|')})$`);
const CAPABILITY_RULE = 'must be ALL or the name of a capability of Linux, such as NET_ADMIN';

function capabilities(description: string) {
  return z
    .array(
      z.string().regex(CAPABILITY, {
        error: ({ input }) =>
          CAPABILITY_RULE + (CAPABILITY.test(String(input).toUpperCase()) ? ', in upper case' : ''),
      }),
    )
    .meta({ description });
}

const OPTION = new RegExp(
  `^(?:no-new-privileges(?:[:=](?:true|false))?|apparmor[:=][^${NUL}]+|label[:=](?:disable|(?:user|role|type|level):[^${NUL}]+)|seccomp[:=](?:unconfined|builtin|\\{[^${NUL}]*\\}))$`,
);
const OPTION_RULE =
  'must be no-new-privileges:true, apparmor:PROFILE, label:disable, label:type:TYPE or seccomp:unconfined';

/** Fields that say what a container may do. */
export const securityFields = {
  read_only: z.boolean().meta({ description: 'Whether the file system of the image is read-only.' }),
  cap_add: capabilities('Capabilities of Linux to add.'),
  cap_drop: capabilities('Capabilities of Linux to take away.'),
  security_opt: z
    .array(
      Text.regex(OPTION, {
        error: ({ input }) =>
          OPTION_RULE +
          (/^seccomp[:=]/.test(String(input))
            ? '; write a profile itself, as JSON, in place of its path'
            : ''),
        abort: true,
      }).refine(isReadable, { error: 'must be a profile of seccomp in JSON; this is none' }),
    )
    .meta({ description: 'Options of security modules, such as no-new-privileges:true.' }),
};

/** Returns the key of a valid option and its value. */
export function parseSecurityOption(option: string): { key: string; value: string } {
  const [, key = option, value = 'true'] = /^([a-z-]+)(?:[:=](.*))?$/s.exec(option) ?? [];
  return { key, value };
}

/** Whether a profile that is written out is JSON, which engines read. */
function isReadable(option: string): boolean {
  const { key, value } = parseSecurityOption(option);
  if (key !== 'seccomp' || !value.startsWith('{')) return true;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
