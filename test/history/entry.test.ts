import { describe, expect, it } from 'vitest';
import type { FolderCommit } from '../../src/history/commit.ts';
import { commitEntry } from '../../src/history/entry.ts';

const ANA = { name: 'ana', email: 'ana@example.com' };
const BEN = { name: 'ben', email: 'ben@example.com' };
const API = { name: 'Holdfast', email: 'holdfast@holdfast.invalid' };
const REVISION = 'a'.repeat(40);

function commit(parts: Partial<FolderCommit>): FolderCommit {
  return {
    revision: REVISION,
    parents: [],
    author: ANA,
    committer: ANA,
    time: 1_700_000_000,
    message: 'subject\n',
    sideAuthors: [],
    files: [],
    ...parts,
  };
}

describe('commitEntry', () => {
  it('has the author as actor, the time of the committer in milliseconds, and the subject', () => {
    expect(commitEntry(commit({ committer: BEN, message: 'one (#3)\n\nwhy\n' }), 'https://x/g/p')).toEqual({
      revision: REVISION,
      at: 1_700_000_000_000,
      actor: { ...ANA, via: 'git' },
      authors: ['ana'],
      subject: 'one (#3)',
      pullRequest: { number: 3, url: 'https://x/g/p/pull/3' },
      requestId: null,
    });
  });

  it('names the API user and the request of a commit that the API made', () => {
    const message = 'app web: create\n\nRequest-Id: r-1\nApi-User: ana\n';
    expect(commitEntry(commit({ committer: API, message }), null)).toMatchObject({
      actor: { ...ANA, via: 'api' },
      requestId: 'r-1',
    });
  });

  it('does not believe the trailers of a commit that a user made', () => {
    const message = 'x\n\nRequest-Id: r-1\nApi-User: root\n';
    expect(commitEntry(commit({ message }), null)).toMatchObject({
      actor: { name: 'ana', via: 'git' },
      requestId: null,
    });
  });

  it('lists every author once, the actor first: those of a merge, and co-authors of a squash', () => {
    const message = 'x\n\nCo-authored-by: Eve <eve@x>\nCo-authored-by: ben <b@x>\n';
    expect(commitEntry(commit({ sideAuthors: [BEN, ANA], message }), null).authors).toEqual([
      'ana',
      'ben',
      'Eve',
    ]);
  });
});
