/** The pull request that a message names. `url` is null if the address of the forge is not known. */
export interface PullRequest {
  number: number;
  url: string | null;
}

/** The most characters of a message that are looked at, from its beginning or from its end, and lines of trailers. */
const LOOKED_AT = 2 ** 16;
const MAX_TRAILER_LINES = 200;

/** Returns the first line of a message that is not empty. */
export function subjectOf(message: string): string {
  return message.slice(0, LOOKED_AT).trimStart().split('\n', 1)[0]?.trimEnd() ?? '';
}

/**
 * Returns the lines of the last paragraph of a message, at most 200, the last ones. None if that is the subject, or if it does not
 * begin within the last 64 KiB.
 */
export function lastParagraph(message: string): string[] {
  const lines = message.slice(-LOOKED_AT).trim().split('\n');
  const start = lines.findLastIndex((line) => line.trim() === '') + 1;
  return start === 0 ? [] : lines.slice(start).slice(-MAX_TRAILER_LINES);
}

/**
 * Returns the trailers of a message: the lines `Key: value` of its `lastParagraph`, if it has no other lines. Keys are in lower
 * case; of a repeated key, all values are in order. The subject is never a trailer.
 */
export function trailersOf(message: string): Map<string, string[]> {
  const trailers = new Map<string, string[]>();
  for (const line of lastParagraph(message)) {
    const colon = line.indexOf(':');
    const key = line.slice(0, colon);
    if (colon < 1 || !/^[A-Za-z0-9-]+$/.test(key)) return new Map();
    const values = trailers.get(key.toLowerCase()) ?? [];
    values.push(line.slice(colon + 1).trim());
    trailers.set(key.toLowerCase(), values);
  }
  return trailers;
}

/** A way in which forges name a pull request in a message. */
interface MessageForm {
  /** Where it is looked for: in the subject, or in any line. */
  in: 'subject' | 'message';
  pattern: RegExp;
  /** Returns the path of its page below the address of the repository; null if the form itself has the address. */
  page: ((number: string) => string) | null;
}

const GITHUB_PAGE = (number: string): string => `pull/${number}`;

const FORMS: readonly MessageForm[] = [
  { in: 'subject', pattern: /^Merge pull request #(\d{1,9})\b/, page: GITHUB_PAGE },
  {
    in: 'subject',
    pattern: /\(pull request #(\d{1,9})\)$/,
    page: (number) => `pull-requests/${number}`,
  },
  {
    in: 'subject',
    pattern: /^Merge pull request '.{0,500}' \(#(\d{1,9})\)(?: from \S{1,300})?(?: into \S{1,300})?$/,
    page: (number) => `pulls/${number}`,
  },
  { in: 'subject', pattern: /\(#(\d{1,9})\)$/, page: GITHUB_PAGE },
  {
    in: 'message',
    pattern: /^See merge request \S{0,500}!(\d{1,9})$/m,
    page: (number) => `-/merge_requests/${number}`,
  },
  { in: 'message', pattern: /^Reviewed-on: https?:\/\/[^\s@]{1,500}\/\+?(\d{1,9})\/?$/m, page: null },
];

/**
 * Returns the pull request that a commit's message names in the way of a forge; null if it names none. `forge` is the address of
 * the repository's page (`webAddressOf`), or null.
 */
export function pullRequestOf(message: string, forge: string | null): PullRequest | null {
  const texts = { subject: subjectOf(message), message: message.slice(0, LOOKED_AT) };
  for (const { in: place, pattern, page } of FORMS) {
    const [whole = '', number] = pattern.exec(texts[place]) ?? [];
    if (number === undefined) continue;
    if (page === null) return { number: Number(number), url: whole.slice('Reviewed-on: '.length) };
    return { number: Number(number), url: forge === null ? null : `${forge}/${page(number)}` };
  }
  return null;
}

/**
 * Returns the address of the page that a forge has for a remote repository, without credentials: of `https` and `ssh` remotes, as
 * the well-known forges have it. Null for a path, and for what is no such address.
 */
export function webAddressOf(remote: string | null): string | null {
  if (remote === null) return null;
  const scp = /^[^\s/@:]+@([\w.-]+):(?!\/)([^\s:]+)$/.exec(remote);
  const url = /^(https?|ssh):\/\/(?:[^\s/@]*@)?([\w.-]+)(:\d+)?\/([^\s?#]+)$/.exec(remote);
  const [host, path] = scp === null ? [url?.[2], url?.[4]] : [scp[1], scp[2]];
  if (host === undefined || path === undefined) return null;
  const scheme = url?.[1] === 'http' ? 'http' : 'https';
  // The port of an ssh address says nothing about that of the page.
  const port = url?.[1] === 'ssh' ? '' : (url?.[3] ?? '');
  return `${scheme}://${host}${port}/${path.replace(/(?<!\/)\/+$/, '').replace(/\.git$/, '')}`;
}
