import { HoldfastError } from '../../errors.ts';
import type { RevisionReader } from '../../source/git/read/revisions.ts';
import { closestName } from '../../suggest.ts';

/** CI systems make shallow clones, which lack most revisions. */
export const SHALLOW_HINT =
  '; this clone is shallow: fetch the whole history first (git fetch --unshallow, or fetch-depth: 0)';

/** Returns the error of a revision that is not a commit, and what was probably meant. `option` is how it was given. */
export async function unknownRevision(
  revision: string,
  { option, revisions }: { option: string; revisions: RevisionReader },
): Promise<HoldfastError> {
  const remote = revisions.isShallow
    ? null
    : await revisions.entriesAt(`origin/${revision}`).catch(() => null);
  const meant = remote === null ? closestName(revision, await revisions.names()) : `origin/${revision}`;
  const nameHint = meant === null ? dateHint(option) : `; did you mean ${meant}?`;
  const reason = revision === '' ? emptyRevision(option) : `"${revision}" is not a commit of this repository`;
  const message = reason + (revisions.isShallow ? SHALLOW_HINT : '') + nameHint + rangeHint(option, revision);
  return new HoldfastError('invalid', message);
}

function dateHint(option: string): string {
  return option === '--to' ? '; a time is yesterday, or a date such as 2026-11-01 or 2026-11-01T18:00' : '';
}

function emptyRevision(option: string): string {
  return `${option} is empty; if it is the output of a command, as in ${option} "$(git merge-base …)", that command found no such commit`;
}

/** Returns a hint for a range such as `main...HEAD`, which `git diff` accepts. */
function rangeHint(option: string, revision: string): string {
  const [, from, end] = /^(.*?)\.\.\.?(.*)/s.exec(revision) ?? [];
  if (from === undefined) return '';
  if (option !== '--against') return '; name one commit, not a range';
  return `; plan takes one commit, not a range. For what a branch changes: --against "$(git merge-base ${from || 'HEAD'} ${end || 'HEAD'})"`;
}
