import { describe, expect, it } from 'vitest';
import { pullRequestOf, subjectOf, trailersOf, webAddressOf } from '../../src/history/message.ts';

const FORGE = 'https://git.example.com/g/p';

describe('subjectOf', () => {
  it.each([
    { name: 'the first line', message: 'one \ntwo\n', subject: 'one' },
    { name: 'the first line that is not empty', message: '\n\n one\n', subject: 'one' },
    { name: 'nothing for an empty message', message: '', subject: '' },
  ])('is $name', ({ message, subject }) => {
    expect(subjectOf(message)).toBe(subject);
  });
});

describe('trailersOf', () => {
  it.each([
    {
      name: 'the last paragraph',
      message: 's\n\nA-b: 1\nc:2\na-B: 3\n',
      found: { 'a-b': ['1', '3'], c: ['2'] },
    },
    { name: 'nothing if it has another line', message: 's\n\nA: 1\nmore\n', found: {} },
    { name: 'nothing of a subject that looks like one', message: 'fix: it\n', found: {} },
    { name: 'nothing of an earlier paragraph', message: 's\n\nA: 1\n\nbody\n', found: {} },
  ])('has $name', ({ message, found }) => {
    expect(Object.fromEntries(trailersOf(message))).toEqual(found);
  });
});

describe('a long message', () => {
  it('has the subject of its beginning, and the trailers of its end', () => {
    const message = `one\n\n${'x'.repeat(500_000)}\n\nA: 1\n`;
    expect(subjectOf(message)).toBe('one');
    expect(Object.fromEntries(trailersOf(message))).toEqual({ a: ['1'] });
  });

  it('has only the last of very many trailers', () => {
    const lines = Array.from({ length: 100_000 }, (_, index) => `A: ${index}`);
    expect(trailersOf(`one\n\n${lines.slice(0, 1000).join('\n')}`).get('a')).toEqual(
      lines.slice(800, 1000).map((line) => line.slice(3)),
    );
    expect(trailersOf(`one\n\n${lines.join('\n')}`)).toEqual(new Map());
  });

  it.each([
    ['empty lines', 'one\n'.concat(' \t\r\n'.repeat(4_000_000), 'A: 1')],
    ['trailers', `one\n\n${'A: 1\n'.repeat(4_000_000)}`],
    ['spaces in a name', `one\n\nCo-authored-by: ${' '.repeat(16_000_000)}x`],
    ['slashes in an address', `one\n\nReviewed-on: https://${'/1'.repeat(8_000_000)} x`],
    ['marks in a request', `one\n\nSee merge request ${'!1'.repeat(8_000_000)} x`],
    ['quotes in a subject', `Merge pull request '${"' (#1) from a into b".repeat(800_000)} `],
  ])('of %s is read in a time that grows with 64 KiB, not with its square', (_, message) => {
    expect(trailersOf(message).size).toBeLessThanOrEqual(1);
    expect(pullRequestOf(message, null)).toBeNull();
  });
});

describe('pullRequestOf', () => {
  it.each([
    { name: 'a merge of GitHub', message: 'Merge pull request #41 from a/b\n\nTitle', page: 'pull/41' },
    { name: 'a squash of GitHub', message: 'Add web (#12)\n\n* one', page: 'pull/12' },
    { name: 'a merge of Gitea', message: "Merge pull request 'x' (#7) from a into main", page: 'pulls/7' },
    {
      name: 'a merge of GitLab',
      message: "Merge branch 'a' into 'main'\n\nT\n\nSee merge request g/p!13",
      page: '-/merge_requests/13',
    },
    {
      name: 'a merge of Bitbucket',
      message: 'Merged in a/b (pull request #9)\n\nT',
      page: 'pull-requests/9',
    },
  ])('reads $name', ({ message, page }) => {
    const number = Number(/\d+$/.exec(page)?.[0]);
    expect(pullRequestOf(message, FORGE)).toEqual({ number, url: `${FORGE}/${page}` });
    expect(pullRequestOf(message, null)).toEqual({ number, url: null });
  });

  it('takes the address from a line that has it', () => {
    const url = 'https://git.example.com/g/p/pulls/5';
    expect(pullRequestOf(`T\n\nReviewed-on: ${url}\n`, null)).toEqual({ number: 5, url });
  });

  it.each([
    'fix #3',
    'see (#3) for more',
    'Revert "x (#3)"',
    'T\n\nThe old text: See merge request g/p!3 here',
    '',
  ])('finds none in %j', (message) => {
    expect(pullRequestOf(message, FORGE)).toBeNull();
  });
});

describe('webAddressOf', () => {
  it.each([
    {
      remote: 'https://ana:secret@git.example.com:8443/g/p.git',
      address: 'https://git.example.com:8443/g/p',
    },
    { remote: 'git@git.example.com:g/p.git', address: 'https://git.example.com/g/p' },
    { remote: 'ssh://git@git.example.com:2222/g/p.git', address: 'https://git.example.com/g/p' },
    { remote: 'http://localhost:3000/g/p/', address: 'http://localhost:3000/g/p' },
    { remote: '/srv/git/fleet.git', address: null },
    { remote: 'file:///srv/git/fleet.git', address: null },
    { remote: null, address: null },
  ])('is $address for $remote', ({ remote, address }) => {
    expect(webAddressOf(remote)).toBe(address);
  });
});
