import { KINDS, type Kind, NAME_PATTERN, NAME_RULE } from '../protocol/name.ts';
import { DESCRIPTORS } from './kinds.ts';
import { fileProblem, type TextProblem } from './problem.ts';

const IGNORED = /^(README.*|LICENSE.*|\..*|.*\.md)$/i;
const OBJECT_FILE = /^([^/]*)\/(?:.*\/)?([^/]*)\.ya?ml$/s;

/** Parts of a path that git refuses to check out. `.GIT` is one of them because some disks ignore case. */
const FORBIDDEN = /^(\.{0,2}|\.git)$/i;
const FORBIDDEN_PROBLEM = {
  severity: 'error',
  problem: fileProblem(
    'file-unreadable',
    'has "." or ".." or ".git" in its path, which git does not allow; recreate the tree with git',
  ),
} as const;

/** What a file below the desired-state folder is for. */
export type FileRole =
  | { role: 'object'; kind: Kind; name: string }
  | { role: 'ignored' }
  | { role: 'problem'; problem: TextProblem; severity: 'error' | 'warning' };

/** Determines from its path alone what a file is for. */
export function classifyPath(path: string): FileRole {
  const segments = path.split('/');
  if (segments.some((segment) => FORBIDDEN.test(segment))) return { role: 'problem', ...FORBIDDEN_PROBLEM };
  if (segments.some((segment) => segment.startsWith('.'))) return { role: 'ignored' };
  const [, folder, name = ''] = OBJECT_FILE.exec(path) ?? [];
  const kind = KINDS.find((each) => DESCRIPTORS[each].folder === folder);
  if (kind !== undefined) return objectRole(kind, name);
  if (IGNORED.test(segments[segments.length - 1] ?? '')) return { role: 'ignored' };
  return { role: 'problem', severity: 'warning', problem: fileProblem('file-unexpected', unread(path)) };
}

const FOLDERS = KINDS.map((kind) => DESCRIPTORS[kind].folder);
const EXPECTED = KINDS.map(
  (kind) => `${DESCRIPTORS[kind].noun}s are ${DESCRIPTORS[kind].folder}/**/NAME.yaml`,
);

/** Why a file is not read, and what to do about it. */
function unread(path: string): string {
  const [folder = ''] = path.split('/');
  const letters = folder.toLowerCase().replace(/[-_]/g, '');
  const meant = Object.values(DESCRIPTORS).find(({ nearFolder }) => nearFolder.test(letters))?.folder;
  const isObject = /\/[^/]+\.ya?ml$/i.test(path) && meant !== undefined;
  if (isObject && folder !== meant) return `is not read: it must be in ${meant}/; move it there`;
  if (isObject) return 'is not read: its name must end in .yaml or .yml, in lower case; rename it';
  return `is not read: ${EXPECTED.slice(0, -1).join(', ')} and ${EXPECTED.at(-1)}; move or remove it`;
}

function objectRole(kind: Kind, name: string): FileRole {
  if (NAME_PATTERN.test(name)) return { role: 'object', kind, name };
  const message = `the file's name is the object's name, and ${NAME_RULE}; rename the file`;
  return { role: 'problem', severity: 'error', problem: fileProblem('name-invalid', message) };
}

/**
 * Returns the folder that looks like the root of a desired state: `fleet` for `fleet/apps/web.yaml`; null if there is none.
 */
export function desiredStateFolderOf(path: string): string | null {
  const end = Math.max(...FOLDERS.map((folder) => path.lastIndexOf(`/${folder}/`)));
  return end > 0 && /[^/]\.ya?ml$/.test(path) ? path.slice(0, end) : null;
}

/** Returns the path for the file of a new object. */
export function newFilePath(kind: Kind, name: string): string {
  return `${DESCRIPTORS[kind].folder}/${name}.yaml`;
}
