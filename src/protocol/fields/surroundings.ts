import * as z from 'zod';
import { normalPath } from '../mount.ts';
import { FreeText, NUL, Text } from '../text.ts';
import { knownKeys } from './known-keys.ts';

const FLAGS =
  'ro|rw|exec|noexec|suid|nosuid|dev|nodev|sync|async|dirsync|atime|noatime|diratime|nodiratime|relatime|norelatime|strictatime|nostrictatime|(?:size|mode|uid|gid|nr_inodes|nr_blocks)=[0-9]+[kKmMgG%]?';
const TMPFS = new RegExp(`^/+[^:/${NUL}][^:${NUL}]*(?::(?:${FLAGS})(?:,(?:${FLAGS}))*)?$`);
const TMPFS_RULE =
  'must be an absolute path in the container, other than "/", or "path:options" such as "/run:size=64m,mode=755"';

/** Returns the folder of an entry of `tmpfs`, as engines compare it. */
export function tmpfsTarget(entry: string): string {
  return normalPath(entry.split(':')[0] ?? '');
}

const HOST = /^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)[:=](.+)$/;
const HOST_RULE = 'must be "name:address", such as "db:10.0.0.5", or "name:host-gateway"';

/** Returns the name and the address of a valid entry of `extra_hosts`; an IPv6 address without its brackets. */
export function parseExtraHost(entry: string): { name: string; address: string } {
  const [, name = '', address = ''] = HOST.exec(entry) ?? [];
  return { name, address: address.replace(/^\[(.*)\]$/, '$1') };
}

function isExtraHost(entry: string): boolean {
  const { address } = parseExtraHost(entry);
  return address === 'host-gateway' || z.union([z.ipv4(), z.ipv6()]).safeParse(address).success;
}

/** YAML readers refuse long keys, as in `env_vars`. */
const MAX_LABEL = 255;
/** The worker finds its containers by such labels, and those of Nebula's. */
const FREE_LABEL = /^(?!holdfast\.|(?:orchestrator|app_name|container_type)$)/;

const LabelName = Text.min(1, 'has a label without a name')
  .max(MAX_LABEL, `has a label with a name of more than ${MAX_LABEL} characters`)
  .regex(FREE_LABEL, 'is a label by which workers find their containers; give it another name');

const logging = {
  driver: Text.regex(
    /^[A-Za-z0-9][A-Za-z0-9._/:-]*$/,
    'must be the name of a logging driver, such as json-file',
  )
    .optional()
    .meta({ description: "Logging driver; that of the device's engine if absent." }),
  options: z.record(Text.min(1, 'has an option without a name'), FreeText).optional().meta({
    description: 'Options of the driver: a map of strings to strings.',
  }),
};

/** Fields that say what is around a container: files, names, labels, and where its output goes. */
export const surroundingFields = {
  labels: z
    .record(LabelName, FreeText)
    .meta({ description: 'Labels of the containers: a map of strings to strings.' }),
  tmpfs: z
    .array(Text.regex(TMPFS, TMPFS_RULE).refine((entry) => tmpfsTarget(entry) !== '/', TMPFS_RULE))
    .meta({
      description: 'Folders in memory: "path" or "path:options".',
    }),
  extra_hosts: z
    .array(Text.regex(HOST, { error: HOST_RULE, abort: true }).refine(isExtraHost, { error: HOST_RULE }))
    .meta({ description: 'Names of hosts in the container: "name:address".' }),
  logging: z
    .strictObject(logging, { error: knownKeys(Object.keys(logging)) })
    .meta({ id: 'Logging', description: 'Where the output of the containers goes.' }),
};
