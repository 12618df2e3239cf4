import { NUL, Text } from './text.ts';

/** A variable of the device, which is replaced there (docs/contract.md, 2.1). */
const VARIABLE = '\\$\\{device\\.[A-Za-z0-9_.-]+\\}';
/** An absolute path, the name of a volume, or either of them behind a variable. */
const SOURCE = `(?:/[^:${NUL}]*|${VARIABLE}[^:${NUL}]*|[A-Za-z0-9](?:[A-Za-z0-9_.-]|${VARIABLE})*)`;
/** An absolute path other than the root. */
const TARGET = `/+[^:/${NUL}][^:${NUL}]*`;
/** The flags of a mode. A mode has at most one of each row. */
const FLAGS = [
  ['ro', 'rw'],
  ['z', 'Z'],
  ['nocopy'],
  ['private', 'rprivate', 'shared', 'rshared', 'slave', 'rslave'],
];
const FLAG = `(?:${FLAGS.flat().join('|')})`;
const MOUNT = new RegExp(`^${SOURCE}:${TARGET}(?::${FLAG}(?:,${FLAG})*)?$`);

const RULE = 'must be "source:target" or "source:target:mode"';
const SOURCE_HINT = '; the source is an absolute path or the name of a volume';
const TARGET_HINT = '; the target is an absolute path in the container, other than "/"';
const MODE_HINT = `; the mode is of ${FLAGS.flat().join(', ')}, separated by commas`;

/** A mount: `source:target` or `source:target:mode` (docs/contract.md, 2.1). */
export const Mount = Text.regex(MOUNT, { error: ({ input }) => RULE + hintFor(String(input)) })
  .refine((mount) => !hasContradiction(mount), { error: 'has flags in its mode that exclude each other' })
  .refine((mount) => !leavesItsFolder(mount), {
    error: 'must not have ".." in a source with a variable',
  });

/** Returns the target of a valid mount, as engines compare it. */
export function mountTarget(mount: string): string {
  return normalPath(mount.split(':')[1] ?? '');
}

/** Returns an absolute path without `.`, `..` and needless slashes. */
export function normalPath(path: string): string {
  const names: string[] = [];
  for (const name of path.split('/')) {
    if (name === '..') names.pop();
    else if (name !== '' && name !== '.') names.push(name);
  }
  return `/${names.join('/')}`;
}

function hasContradiction(mount: string): boolean {
  const flags = mount.split(':')[2]?.split(',') ?? [];
  return FLAGS.some((row) => flags.filter((flag) => row.includes(flag)).length > 1);
}

/** Whether the value of a variable could lead to any folder of the device. */
function leavesItsFolder(mount: string): boolean {
  const [source = ''] = mount.split(':');
  return source.includes('${') && source.split('/').includes('..');
}

/** Names the part that is wrong. */
function hintFor(given: string): string {
  const [source = '', target, mode, ...rest] = given.split(':');
  if (target === undefined || rest.length > 0) return '';
  if (!new RegExp(`^${SOURCE}$`).test(source)) return SOURCE_HINT;
  if (!new RegExp(`^${TARGET}$`).test(target)) return TARGET_HINT;
  return mode === undefined ? '' : MODE_HINT;
}
