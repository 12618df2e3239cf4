import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseSince } from '../../src/cli/past/since.ts';
import { type CommandResult, runCli } from '../support/command.ts';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../support/git.ts';

/** A repository with three commits; the second one is a merge of a branch. */
async function repositoryWithMerge(): Promise<{ repository: TestRepository; commits: string[] }> {
  const repository = await testRepository();
  const files = {
    'apps/web.yaml': 'container_image: web:1\n',
    'apps/cron.yaml': 'container_image: cron:1\n',
  };
  const first = await repository.commit(inDesiredState(files), 'begin');
  await repository.git('switch', '--quiet', '--create', 'topic');
  await repository.commit(inDesiredState({ 'apps/web.yaml': 'container_image: web:2\n' }), 'web 2');
  await repository.git('commit', '--quiet', '--amend', '--no-edit', '--author', 'Ana <ana@example.com>');
  await repository.git('switch', '--quiet', 'main');
  await repository.git('merge', '--quiet', '--no-ff', '-m', 'Merge pull request #41 from ana/topic', 'topic');
  const merge = await repository.git('rev-parse', 'HEAD');
  const last = await repository.commit(
    inDesiredState<string | null>({ 'apps/cron.yaml': null, 'apps/bad.yaml': 'container_image: [\n' }),
    'drop cron',
  );
  return { repository, commits: [last, merge, first] };
}

function run({ folder }: TestRepository, ...args: string[]): Promise<CommandResult> {
  return runCli([...args, '--desired-state', join(folder, 'desired-state')]);
}

/** Without times, which depend on the zone of the machine. */
const withoutTimes = (text: string): string => text.replace(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'TIME');

describe('history', () => {
  it('lists commits of the first-parent line, newest first, with who made them and what they changed', async () => {
    const { repository, commits } = await repositoryWithMerge();
    await repository.commit({ 'notes.txt': 'x' }, 'notes');
    const { code, out, err } = await run(repository, 'history');
    const [last, merge, first] = commits.map((commit) => commit.slice(0, 12));
    expect([code, err]).toEqual([0, '']);
    expect(withoutTimes(out)).toBe(`${last}  TIME  drop cron  Pat
    + app bad (not valid)
    - app cron
${merge}  TIME  Merge pull request #41 from ana/topic  Pat, Ana
    ~ app web: container_image
${first}  TIME  begin  Pat
    + app cron
    + app web
`);
  });

  it('lists those of one object, also where only comments or the path changed', async () => {
    const { repository, commits } = await repositoryWithMerge();
    const comment = await repository.commit(
      inDesiredState<string | null>({
        'apps/web.yaml': null,
        'apps/shop/web.yaml': '# shop\ncontainer_image: web:2\n',
      }),
      'move',
    );
    const { out } = await run(repository, 'history', 'app/web', '--format', 'json');
    const { entries } = JSON.parse(out);
    expect(entries.map(({ revision }: { revision: string }) => revision)).toEqual([
      comment,
      commits[1],
      commits[2],
    ]);
    expect(entries[1]).toMatchObject({
      kind: 'commit',
      actor: { name: 'Pat', email: 'pat@example.com', via: 'git' },
      authors: ['Pat', 'Ana'],
      pull_request: { number: 41, url: null },
      changes: [{ object: 'app/web', change: 'update', fields: ['container_image'], ids: null }],
    });
  });

  it('says that there are older ones if there are more than --limit', async () => {
    const { repository } = await repositoryWithMerge();
    const { out, err } = await run(repository, 'history', '--limit', '2');
    expect([out.match(/TIME|drop|Merge|begin/g), err]).toEqual([
      ['drop', 'Merge'],
      expect.stringContaining('There are older ones: --limit 4'),
    ]);
  });

  it('takes -n for --limit', async () => {
    const { repository } = await repositoryWithMerge();
    for (const args of [['-n', '1'], ['-n1'], ['--limit=1']])
      expect((await run(repository, 'history', ...args)).out).toMatch(
        /^\w+ {2}.*drop cron[^\n]*\n {4}[^\n]*\n {4}[^\n]*\n$/,
      );
  });

  it('cuts subjects and lists of fields to the width of a terminal, and nothing elsewhere', async () => {
    const repository = await testRepository();
    const subject = 'a subject that is longer than the terminal is wide, by far';
    await repository.commit(inDesiredState({ 'apps/web.yaml': 'container_image: web:1\n' }), 'begin');
    await repository.commit(
      inDesiredState({ 'apps/web.yaml': 'container_image: web:2\nenv_vars: {A: b}\nprivileged: true\n' }),
      subject,
    );
    const args = ['history', '--desired-state', join(repository.folder, 'desired-state')];
    const { out } = await runCli(args, { columns: 64 });
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBe(64);
    expect(out).toContain('a subject that is longer t…  Pat');
    expect((await runCli(args)).out).toContain(`${subject}  Pat`);
    const narrow = await runCli(args, { columns: 30 });
    expect(narrow.out).toContain('a subject that is l…  Pat');
    expect(narrow.out).toContain('~ app web: container_image, en…');
  });

  it('says when nothing changed since, also for an object that is gone', async () => {
    const { repository } = await repositoryWithMerge();
    for (const object of ['app/web', 'app/cron'])
      expect(await run(repository, 'history', object, '--since', '2100-01-01')).toMatchObject({
        code: 0,
        err: `Nothing changed ${object} since 2100-01-01 00:00.\n`,
      });
  });

  it('says that a shallow clone lacks older commits', async () => {
    const { repository } = await repositoryWithMerge();
    const folder = join(await temporaryFolder(), 'clone');
    await repository.git('clone', '--quiet', '--depth', '1', `file://${repository.folder}`, folder);
    const { err } = await run(repositoryAt(folder), 'history');
    expect(err).toMatch(/^Of the commits that are here, none changed the fleet\.\nThis clone is shallow/);
    expect(await run(repositoryAt(folder), 'history', 'app/old')).toMatchObject({
      code: 2,
      err: expect.stringContaining('the history has no app/old; this clone is shallow'),
    });
  });

  it('refuses a repository whose commits have no files of a fleet', async () => {
    const repository = await testRepository();
    await repository.commit({ 'notes.txt': 'x' }, 'notes');
    expect(await run(repository, 'history')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/no commit has files in \S+; name the fleet: --desired-state FOLDER/),
    });
  });

  it('leaves out what is older than --since', async () => {
    const repository = await testRepository();
    await writeFile(join(repository.folder, 'old'), '');
    const old = inDesiredState({ 'apps/web.yaml': 'container_image: web:1\n' });
    await repository.commit(old, 'old');
    await repository.git('commit', '--quiet', '--amend', '--no-edit', '--date', '2020-01-01T00:00:00Z');
    await repository.git(
      '-c',
      'user.useConfigOnly=false',
      'rebase',
      '--quiet',
      '--committer-date-is-author-date',
      '--root',
      '--force-rebase',
    );
    await repository.commit(inDesiredState({ 'apps/web.yaml': 'container_image: web:2\n' }), 'new');
    const { out } = await run(repository, 'history', '--since', '4d');
    expect(out.match(/ {2}(?:old|new) {2}/g)).toEqual(['  new  ']);
    expect((await run(repository, 'history', '--since', '2019-12-01')).out).toContain('  old  ');
  });

  it('shows control characters of messages as escapes', async () => {
    const repository = await testRepository();
    await repository.commit(
      inDesiredState({ 'apps/web.yaml': 'container_image: web:1\n' }),
      'red \u001b[31m',
    );
    expect((await run(repository, 'history')).out).toContain('red \\u001b[31m');
  });

  it.each([
    [['history', '--limit', 'x'], /--limit must be a whole number above 0, not "x"/],
    [['history', '--since', 'yesterday'], /--since takes a time ago, such as 4d, 2w or 12h/],
    [['history', '--since', '2026-02-30'], /--since takes a time ago, such as 4d, 2w or 12h/],
    [['history', 'web'], /did you mean app\/web or device_group\/web\?/],
    [['history', 'desired-state/apps/shop/web.yaml'], /did you mean app\/web\?/],
    [['history', 'app/wbe'], /the history has no app\/wbe; did you mean app\/web\?/],
    [['history', 'device_group/web'], /the history has no device_group\/web; did you mean app\/web\?/],
    [['history', 'app/wbe', '--since', '2w'], /did you mean app\/web\?/],
    [['show', 'topci'], /"topci" is not a commit of this repository; did you mean topic\?/],
    [['rollback', 'app/wbe', '--to', 'HEAD~1'], /nor now; did you mean app\/web\?/],
    [['rollback', 'app/other', '--to', 'HEAD~1'], /holdfast history app\/other lists what there was/],
    [['history', 'app/a', 'app/b'], /only one object can be given/],
    [['show'], /name a commit: holdfast show HEAD/],
    [['show', 'nope'], /"nope" is not a commit of this repository/],
  ])('refuses %j', async (args, message) => {
    const { repository } = await repositoryWithMerge();
    expect(await run(repository, ...args)).toMatchObject({ code: 2, err: expect.stringMatching(message) });
  });
});

describe('pull requests in history and show', () => {
  it.each<[string, [remote: string, url: string][], string | null]>([
    [
      'origin',
      [
        ['fork', 'https://git.example/me/x'],
        ['origin', 'git@git.example:acme/x.git'],
      ],
      'acme/x',
    ],
    ['the only remote', [['upstream', 'https://u:secret@git.example/up/x']], 'up/x'],
    [
      'no remote among several',
      [
        ['a', 'https://git.example/a/x'],
        ['b', 'https://git.example/b/x'],
      ],
      null,
    ],
    ['no remote that is a folder', [['origin', '/srv/git/x.git']], null],
    ['no remote if there is none', [], null],
  ])('have the address of %s', async (_, remotes, path) => {
    const repository = await testRepository();
    for (const [name, url] of remotes) await repository.git('remote', 'add', name, url);
    await repository.commit(inDesiredState({ 'apps/web.yaml': 'container_image: web:1\n' }), 'begin (#3)');
    const url = path === null ? null : `https://git.example/${path}/pull/3`;
    const { entries } = JSON.parse((await run(repository, 'history', '--format', 'json')).out);
    expect(entries[0].pull_request).toEqual({ number: 3, url });
    expect((await run(repository, 'show', 'HEAD')).out).toContain(`#3${url === null ? '\n' : ` ${url}\n`}`);
  });
});

describe('show', () => {
  it('shows who made a commit, why, and what it changed, with values', async () => {
    const { repository, commits } = await repositoryWithMerge();
    const { code, out } = await run(repository, 'show', 'HEAD~1');
    expect(code).toBe(0);
    expect(withoutTimes(out).replaceAll(`${repository.folder}/`, '')).toBe(`commit ${commits[1]}
Author:  Pat <pat@example.com>
With:    Ana
Date:    TIME
Pull request: #41

    Merge pull request #41 from ana/topic

~ app web  (desired-state/apps/web.yaml)
-   container_image: web:1
+   container_image: web:2

1 object changed.
`);
  });

  it('has values before and after in JSON', async () => {
    const { repository } = await repositoryWithMerge();
    const shown = JSON.parse((await run(repository, 'show', 'HEAD', '--format', 'json')).out);
    expect(shown).toMatchObject({
      subject: 'drop cron',
      steps: [{ operation: 'delete', name: 'cron', before: { container_image: 'cron:1' }, after: null }],
    });
  });

  it('advises to fetch the history for a commit whose parent a shallow clone lacks', async () => {
    const { repository } = await repositoryWithMerge();
    const folder = join(await temporaryFolder(), 'clone');
    await repository.git('clone', '--quiet', '--depth', '1', `file://${repository.folder}`, folder);
    expect((await run(repositoryAt(folder), 'show', 'HEAD')).err).toContain('this clone is shallow');
  });
});

describe('parseSince', () => {
  const now = Date.parse('2026-11-26T12:00:00Z');

  it.each([
    ['90m', '2026-11-26T10:30:00Z'],
    ['12h', '2026-11-26T00:00:00Z'],
    ['4d', '2026-11-22T12:00:00Z'],
    ['2w', '2026-11-12T12:00:00Z'],
    ['2026-11-01T08:00:00Z', '2026-11-01T08:00:00Z'],
  ])('reads %s', (text, time) => {
    expect(parseSince(text, now)).toBe(Date.parse(time));
  });

  it('reads a date as the beginning of the day here', () => {
    expect(parseSince('2026-11-01', now)).toBe(new Date(2026, 10, 1).getTime());
  });
});
