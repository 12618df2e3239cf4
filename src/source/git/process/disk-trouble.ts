import { descriptorAdvice } from '../../../errors.ts';
import { stderrOf } from './run.ts';

export const DISK_FULL = 'the disk is full (df), or has no inodes left (df -i); make room';

const TROUBLES: readonly (readonly [RegExp, string])[] = [
  [
    /Permission denied|Operation not permitted|insufficient permission for adding|\bEACCES\b|\bEPERM\b/,
    'the user of the manager may not write there; check owner and permissions',
  ],
  [/No space left on device|Out of diskspace|\bENOSPC\b/, DISK_FULL],
  [/Disk quota exceeded|\bEDQUOT\b/, 'the disk quota is exceeded; make room'],
  [/Read-only file system|\bEROFS\b/, 'the file system is read-only'],
  [/Input\/output error|\bEIO\b/, 'the disk reports errors; check the system log'],
  // git does not say why.
  [
    /unable to create temporary object directory/,
    'the folder of objects cannot be written; check its owner, its permissions and the space (df) of the disk',
  ],
  [
    /couldn't (?:write|close) '[^'\n]*'$|[Uu]nable to write (?:new )?index(?: file|\.)?$/m,
    'a file could not be written; check the space (df) and inodes (df -i) of the disk',
  ],
];

/** A message about a failed write: from git on this machine (not from the other side of a transfer), or from Node. */
const WRITING =
  /^(?:(?:error|fatal|warning): .*\b(?:adding|append|close|closing|copy|create|flush|fsync|install|lock|mkdir|rename|store|symlink|truncate|unlink|update|writ(?:e|ing|ten))\b.*|E[A-Z]+: .*)$/gm;

/** Returns why this machine's disk could not be written, and what to do; null if the error has another cause. */
export function diskTrouble(error: unknown): string | null {
  const messages = (stderrOf(error).match(WRITING) ?? []).join('\n');
  return TROUBLES.find(([pattern]) => pattern.test(messages))?.[1] ?? null;
}

/** Other reasons for which git cannot work in a repository, by git's messages about them; `$1` is what a message names. */
const REPOSITORY_TROUBLES: readonly (readonly [RegExp, string])[] = [
  [/^fatal: bad (?:\S+ )?config\b/im, 'git cannot parse its configuration; see git config --list'],
  [
    /unknown repository (?:extension|object format|ref storage)|Expected git repo version/i,
    'the repository needs a newer git; install one',
  ],
  [
    /not a git repository/,
    'git no longer recognizes the folder as a repository; check HEAD, config and permissions in its .git folder',
  ],
  [
    /unexpected line in \S*packed-refs|bad shallow line/,
    'packed-refs or shallow in its .git folder is damaged; see git fsck',
  ],
  [/^fatal: Out of memory|: Cannot allocate memory/m, 'it needs more memory than it may take'],
  [
    /from promisor remote/,
    'this is a partial clone, and its missing objects could not be fetched; make sure that its remote is reachable (https or ssh, no path), or make a full clone',
  ],
  [
    /^(?:(?:error|fatal|warning): .*\b(?:access|open|opendir|read|stat|mmap)\b.*: (?:Permission denied|Operation not permitted)|E(?:ACCES|PERM): )/m,
    'the user of the manager may not read it; check owner and permissions',
  ],
  [
    /^(?:(?:error|fatal|warning): .*: Input\/output error|EIO: )/m,
    'the disk reports errors; check the system log',
  ],
  [
    /^fatal: bad object (refs\/\S+)/m,
    '$1 names an object that is missing; fetch the object, or delete the ref (git update-ref -d $1)',
  ],
  [
    /^error: [Oo]bject [0-9a-f]+ not a |^error: Could not read [0-9a-f]+$|^fatal: bad object |^fatal: loose object .* is corrupt|\bunable to (?:read tree|unpack) |\) is corrupt$/m,
    'an object is missing, damaged or of the wrong type; see git fsck',
  ],
];

/** Why git could not be started, or could not open files. */
function startTrouble(error: unknown): string | null {
  return descriptorAdvice(stderrOf(error));
}

function repositoryTrouble(error: unknown): string | null {
  const text = stderrOf(error);
  const [pattern, trouble] = REPOSITORY_TROUBLES.find((each) => each[0].test(text)) ?? [];
  return trouble?.replaceAll('$1', () => pattern?.exec(text)?.[1] ?? '') ?? null;
}

/**
 * Returns the sentence, followed by the cause and what to do if the cause is known to be the disk or the repository.
 */
export function explainFailure(sentence: string, error: unknown): string {
  return joined(sentence, startTrouble(error) ?? diskTrouble(error) ?? repositoryTrouble(error));
}

/** Like `explainFailure`, for work that only reads: "Permission denied" is then about reading. */
export function explainReadFailure(sentence: string, error: unknown): string {
  return joined(sentence, startTrouble(error) ?? repositoryTrouble(error) ?? diskTrouble(error));
}

function joined(sentence: string, trouble: string | null): string {
  return trouble === null ? sentence : `${sentence}: ${trouble}`;
}
