import type { FolderCommit, Person } from './commit.ts';
import { type PullRequest, pullRequestOf, subjectOf, trailersOf } from './message.ts';

/** How a change came: by git, or by a request to the manager's API. */
export type Via = 'git' | 'api';

/** Who did something. `email` is null if it is not known. */
export interface Actor {
  name: string;
  email: string | null;
  via: Via;
}

/** What a commit says about itself: who, when, why. */
export interface CommitEntry {
  revision: string;
  /** Committer time, Unix milliseconds. */
  at: number;
  actor: Actor;
  /** Names of all authors, the actor first: of the commit, of the side commits of a merge, and of `Co-authored-by`. */
  authors: string[];
  subject: string;
  pullRequest: PullRequest | null;
  /** The request that made the commit through the API; null for any other. */
  requestId: string | null;
}

/** The committer of commits that the API makes. */
const API_COMMITTER = 'Holdfast';
/** Returns how a commit came, by the name of its committer. */
export function viaOf(committer: string): Via {
  return committer === API_COMMITTER ? 'api' : 'git';
}

/** The most characters of a subject, and of a name, that are kept. */
const MAX_TEXT = 500;
/** The most authors that are listed. */
const MAX_AUTHORS = 100;

/**
 * Returns what a commit says about itself; `forge` as in `pullRequestOf`. A commit counts as made by the API if it has the API's
 * committer and its trailers, which a user could also write.
 */
export function commitEntry(commit: FolderCommit, forge: string | null): CommitEntry {
  const { revision, author, committer, message } = commit;
  const trailers = trailersOf(message);
  const user = trailers.get('api-user')?.[0];
  const isFromApi = viaOf(committer.name) === 'api' && user !== undefined;
  const name = short(isFromApi ? user : author.name);
  const coAuthors = (trailers.get('co-authored-by') ?? []).map(nameOf);
  const authors = [name, ...commit.sideAuthors.map((person) => short(person.name)), ...coAuthors];
  return {
    revision,
    at: commit.time * 1000,
    actor: { name, email: short(author.email) || null, via: isFromApi ? 'api' : 'git' },
    authors: [...new Set(authors)].filter(Boolean).slice(0, MAX_AUTHORS),
    subject: short(subjectOf(message)),
    pullRequest: pullRequestOf(message, forge),
    requestId: isFromApi ? short(trailers.get('request-id')?.[0] ?? '') || null : null,
  };
}

/** Returns the name in `Ana <ana@example.com>`. */
function nameOf(text: string): Person['name'] {
  const whole = text.trimEnd();
  const address = whole.endsWith('>') ? whole.lastIndexOf('<') : -1;
  return short(address === -1 ? text : whole.slice(0, address).trimEnd());
}

function short(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT - 1)}…` : text;
}
