import { descriptorTrouble } from '../../../errors.ts';
import { saidBy } from './run.ts';

const TROUBLES: readonly (readonly [RegExp, string])[] = [
  [
    /Permission denied|Operation not permitted|insufficient permission for adding|\bEACCES\b|\bEPERM\b/,
    'the user of the manager may not write there; check owner and permissions',
  ],
  [
    /No space left on device|Out of diskspace|\bENOSPC\b/,
    'the disk is full (df), or has no inodes left (df -i); make room',
  ],
  [/Disk quota exceeded|\bEDQUOT\b/, 'the disk quota is exceeded; make room'],
  [/Read-only file system|\bEROFS\b/, 'the file system is read-only'],
  [/Input\/output error|\bEIO\b/, 'the disk reports errors; check the system log'],
];

/** A complaint about writing, of git (not of the other side of a transfer) or of Node. */
const WRITING =
  /^(?:(?:error|fatal|warning): .*\b(?:adding|append|close|closing|copy|create|flush|fsync|install|lock|mkdir|rename|store|symlink|truncate|unlink|update|writ(?:e|ing|ten))\b.*|E[A-Z]+: .*)$/gm;

/** What of this machine's disk kept git, or us, from writing, and what to do; null where it was something else. */
export function diskTrouble(error: unknown): string | null {
  const complaints = (saidBy(error).match(WRITING) ?? []).join('\n');
  return TROUBLES.find(([pattern]) => pattern.test(complaints))?.[1] ?? null;
}

/** What else keeps git from working in a repository, by what it says of that. */
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
  [
    /from promisor remote/,
    'this is a partial clone, and its missing objects could not be fetched; make sure that its remote is reachable, or make a full clone',
  ],
  [
    /^(?:(?:error|fatal|warning): .*\b(?:access|open|opendir|read|stat|mmap)\b.*: (?:Permission denied|Operation not permitted)|E(?:ACCES|PERM): )/m,
    'the user of the manager may not read it; check owner and permissions',
  ],
  [
    /^(?:(?:error|fatal|warning): .*: Input\/output error|EIO: )/m,
    'the disk reports errors; check the system log',
  ],
];

/** What kept git from being started, or from opening anything. */
function startTrouble(error: unknown): string | null {
  return descriptorTrouble(saidBy(error));
}

function repositoryTrouble(error: unknown): string | null {
  const text = saidBy(error);
  return REPOSITORY_TROUBLES.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

/** The sentence, with what to do where the reason is known: the disk, or the repository's own state. */
export function withTrouble(sentence: string, error: unknown): string {
  return joined(sentence, startTrouble(error) ?? diskTrouble(error) ?? repositoryTrouble(error));
}

/** The same for what only reads: rights that are missing are those to read. */
export function readingTrouble(sentence: string, error: unknown): string {
  return joined(sentence, startTrouble(error) ?? repositoryTrouble(error) ?? diskTrouble(error));
}

function joined(sentence: string, trouble: string | null): string {
  return trouble === null ? sentence : `${sentence}: ${trouble}`;
}
