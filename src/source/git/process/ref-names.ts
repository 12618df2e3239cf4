import { hash } from 'node:crypto';
import { HoldfastError } from '../../../errors.ts';

const REF =
  /^refs\/(heads|holdfast|remotes\/origin)\/(?!.*(?:\.\.|\/\/|@\{|\.lock(?:\/|$)|\/\.))[^ ~^:?*[\\\p{Cc}./][^ ~^:?*[\\\p{Cc}]*(?<![./])$/su;

/** Returns the text if it is the full name of a branch or of a ref of ours; otherwise throws an `invalid` error. */
export function refName(text: string): string {
  if (REF.test(text)) return text;
  throw new HoldfastError('invalid', `"${text.slice(0, 200)}" is not a valid branch name`);
}

/** The most bytes of a name, and of each of its parts: git keeps a ref in a file of that name, with `.lock` while it moves. */
const MAX_NAME = 1000;
const MAX_PART = 250;
const SHORT_NAME =
  /^(?!-|@$|HEAD$)(?!.*(?:\.\.|\/\/|@\{|\.lock(?:\/|$)|\/\.))[^ ~^:?*[\\\p{Cc}./][^ ~^:?*[\\\p{Cc}]*(?<![./])$/su;

/**
 * Whether a text can be the short name of a branch or tag, as git-check-ref-format has it: without git's expressions, and
 * without anything that git could take for an option.
 */
export function isShortRefName(text: string): boolean {
  const parts = text.split('/');
  const isShort =
    Buffer.byteLength(text) <= MAX_NAME && parts.every((part) => Buffer.byteLength(part) <= MAX_PART);
  return isShort && SHORT_NAME.test(text);
}

/** Whether a text is the full name of a ref of origin that users may name. */
export function isOriginRef(text: string): boolean {
  const [, name] = /^refs\/(?:heads|tags|pull|merge-requests)\/(.*)$/s.exec(text) ?? [];
  return name !== undefined && isShortRefName(name);
}

/** Returns the text if it is the full name of a ref of origin that users may name; otherwise throws an `invalid` error. */
export function originRef(text: string): string {
  if (isOriginRef(text)) return text;
  throw new HoldfastError('invalid', 'this is not the name of a ref');
}

/** Returns the text if it is the full name of a ref that is read here; otherwise throws an `invalid` error. */
export function refToRead(text: string): string {
  return isOriginRef(text) ? text : refName(text);
}

/** Returns the ref of the mirror that holds the last known commit of a branch of origin. */
export function trackingRef(branch: string): string {
  return refName(branch.replace(/^refs\/heads\//, 'refs/remotes/origin/'));
}

const RECORDS = /^refs\/holdfast\/record\/(?=[0-9a-f]{12}$)/;

/**
 * Returns the ref of the record of ids of a line (docs/contract.md, 8.3): a hash, because names of folders and branches can
 * be unfit for a name.
 */
export function recordRef(line: string): string {
  return `refs/holdfast/record/${hash('sha256', line, 'hex').slice(0, 12)}`;
}

/** Returns the ref of the mirror for a record at origin, as it was last fetched or pushed. */
export function recordTracking(record: string): string {
  if (RECORDS.test(record)) return record.replace(RECORDS, 'refs/holdfast/origin-record/');
  throw new HoldfastError('internal', 'not the ref of a record');
}

/** Refspec for a record of ids at origin, if it has one. A pattern, because git fails for the full name of a ref that origin lacks. */
export function recordAtOrigin(record: string): string {
  return `+${record}*:${recordTracking(record)}*`;
}

/** Refspec for a branch of origin. */
export function branchAtOrigin(branch: string): string {
  return `+${branch}:${trackingRef(branch)}`;
}

/** git's message if origin does not have the branch. */
export const NO_BRANCH = /couldn't find remote ref/;
