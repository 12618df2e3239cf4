import { posix } from 'node:path';
import { descriptorAdvice } from '../../../errors.ts';
import { GitFailure, stderrOf } from './run.ts';

export const DISK_FULL =
  'the disk is full (df), has no inodes left (df -i), or the quota is exceeded; make room';

const TROUBLES: readonly (readonly [RegExp, string])[] = [
  [/No space left|Out of diskspace|quota exceeded|\bENOSPC\b|\bEDQUOT\b/, DISK_FULL],
  [
    /Permission denied|Operation not permitted|insufficient permission|Read-only file system|\bE(?:ACCES|PERM|ROFS)\b/,
    'the user of the manager has no right to do that; check owner and permissions, and how the disk is mounted',
  ],
];

/** Lines of git on this machine, not of the other side of a transfer or of the ssh between them; or of Node. */
const OWN_LINES = /^(?:(?:error|fatal|warning): (?!cannot (?:exec|run) |unable to access ).*|E[A-Z]+: .*)$/gm;

/** Returns why this machine's disk could not be used, and what to do; null if the error has another cause. */
export function diskTrouble(error: unknown): string | null {
  const messages = (stderrOf(error).match(OWN_LINES) ?? []).join('\n');
  return TROUBLES.find(([pattern]) => pattern.test(messages))?.[1] ?? null;
}

/** Returns the sentence, followed by the cause and what to do if that is known, or else by what git says. */
export function explainFailure(sentence: string, error: unknown): string {
  const said = error instanceof GitFailure ? lineOf(error) : '';
  const cause = descriptorAdvice(stderrOf(error)) ?? diskTrouble(error) ?? said;
  return cause === '' ? sentence : `${sentence}: ${cause}`;
}

/** Lines beside which others say more. */
const LESS = /^(?:hint|warning): |^fatal: (?:Could not read from remote repository|the remote end hung up)/;
const LONGEST = 300;

/** Returns the line in which git says what is wrong, for people: without the folders of this machine. */
export function lineOf({ said }: GitFailure): string {
  const lines = said.split('\n').filter((line) => line.trim() !== '');
  const line = lines.find((each) => !LESS.test(each)) ?? lines[0] ?? '';
  return line
    .replaceAll(/'\/[^']*'/g, (path) => `'${posix.basename(path.slice(1, -1))}'`)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, LONGEST);
}
