import { descriptorTrouble } from '../../../errors.ts';
import { saidBy } from './run.ts';

const TROUBLES: readonly (readonly [RegExp, string])[] = [
  [
    /Permission denied|Operation not permitted|insufficient permission for adding|\bEACCES\b|\bEPERM\b/,
    'the user who runs the manager may not write there; look at owners and rights',
  ],
  [
    /No space left on device|Out of diskspace|\bENOSPC\b/,
    'the disk is full (df), or has no inodes left (df -i); make room',
  ],
  [/Disk quota exceeded|\bEDQUOT\b/, 'the quota of the disk is used up; make room'],
  [/Read-only file system|\bEROFS\b/, 'the file system is read-only'],
  [/Input\/output error|\bEIO\b/, 'the disk has errors; look at the log of the machine'],
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
  [/^fatal: bad (?:\S+ )?config\b/im, 'it does not understand the settings there; see git config --list'],
  [
    /unknown repository (?:extension|object format|ref storage)|Expected git repo version/i,
    'the repository needs a newer git; install one',
  ],
  [
    /not a git repository/,
    'it does not take the folder for a repository any more; look at HEAD, config, and rights in its .git folder',
  ],
  [
    /unexpected line in \S*packed-refs|bad shallow line/,
    'packed-refs or shallow in its .git folder is damaged; see git fsck',
  ],
  [
    /from promisor remote/,
    'this is a partial clone, and what it lacks could not be fetched; see that its remote is reached, or clone all of it',
  ],
  [
    /^(?:(?:error|fatal|warning): .*\b(?:access|open|opendir|read|stat|mmap)\b.*: (?:Permission denied|Operation not permitted)|E(?:ACCES|PERM): )/m,
    'the user who runs the manager may not read it; look at owners and rights',
  ],
  [
    /^(?:(?:error|fatal|warning): .*: Input\/output error|EIO: )/m,
    'the disk has errors; look at the log of the machine',
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
