import { fileProblem, type TextProblem } from './diagnostic.ts';
import { type Kind, NAME_PATTERN, NAME_RULE } from './name.ts';

/** The folder of each kind below the desired-state folder. */
const KIND_FOLDERS: Readonly<Record<Kind, string>> = { app: 'apps', device_group: 'device-groups' };

const LEFT_ALONE = /^(README.*|LICENSE.*|\..*|.*\.md)$/i;
const OBJECT_FILE = /^(apps|device-groups)\/(?:.*\/)?([^/]*)\.ya?ml$/s;

/** Names that git writes into no tree; on some disks `.GIT` is `.git`. No work tree can hold them. */
const FORBIDDEN = /^(\.{0,2}|\.git)$/i;
const FORBIDDEN_PART = {
  severity: 'error',
  problem: fileProblem(
    'file-unreadable',
    'has "." or ".." or ".git" in its path, which git does not allow; write the tree anew with git',
  ),
} as const;

/** What a path below the desired-state folder stands for. */
export type FileRole =
  | { role: 'object'; kind: Kind; name: string }
  | { role: 'ignored' }
  | { role: 'problem'; problem: TextProblem; severity: 'error' | 'warning' };

/** Tells from its path alone what a file is (decisions, "Desired-state files"). */
export function classifyPath(path: string): FileRole {
  const segments = path.split('/');
  if (segments.some((segment) => FORBIDDEN.test(segment))) return { role: 'problem', ...FORBIDDEN_PART };
  if (segments.some((segment) => segment.startsWith('.'))) return { role: 'ignored' };
  const match = OBJECT_FILE.exec(path);
  if (match !== null) return objectRole(match[1] === 'apps' ? 'app' : 'device_group', match[2] ?? '');
  if (LEFT_ALONE.test(segments[segments.length - 1] ?? '')) return { role: 'ignored' };
  const message =
    'is not read: apps are apps/**/NAME.yaml and device groups are device-groups/**/NAME.yaml; move or remove it';
  return { role: 'problem', severity: 'warning', problem: fileProblem('file-unexpected', message) };
}

function objectRole(kind: Kind, name: string): FileRole {
  if (NAME_PATTERN.test(name)) return { role: 'object', kind, name };
  const message = `the file's name is the object's name, and ${NAME_RULE}; rename the file`;
  return { role: 'problem', severity: 'error', problem: fileProblem('name-invalid', message) };
}

/** Where a new object's file goes (decisions, "Writes through the API"). */
export function newFilePath(kind: Kind, name: string): string {
  return `${KIND_FOLDERS[kind]}/${name}.yaml`;
}
