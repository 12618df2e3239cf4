import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CommandResult, runCli } from '../support/command.ts';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository, USER_ENVIRONMENT } from '../support/git.ts';

type Files = Readonly<Record<string, string | null>>;

const WEB = '# the shop\ncontainer_image: web:1 # pinned\nenv_vars:\n  LEVEL: info\n';
const CRON = 'container_image: cron:1\n';
const FLEET = {
  'apps/web.yaml': WEB,
  'apps/cron.yaml': CRON,
  'device-groups/edge.yaml': 'apps: [web, cron]\n',
};

/** A repository with a commit for each set of files, and the ids of these commits, the first one of `FLEET`. */
async function fleet(...changes: Files[]): Promise<{ repository: TestRepository; commits: string[] }> {
  const repository = await testRepository();
  const commits: string[] = [];
  for (const files of [FLEET, ...changes])
    commits.push(await repository.commit(inDesiredState<string | null>(files)));
  return { repository, commits };
}

function run({ folder }: TestRepository, ...args: string[]): Promise<CommandResult> {
  const option = ['--desired-state', join(folder, 'desired-state')];
  return runCli(['rollback', ...args, ...option], { env: USER_ENVIRONMENT });
}

async function read({ folder }: TestRepository, path: string): Promise<string | null> {
  return readFile(join(folder, 'desired-state', path), 'utf8').catch(() => null);
}

const status = ({ git }: TestRepository): Promise<string> => git('status', '--porcelain');

describe('rollback --to', () => {
  it('brings back the bytes of the file at its present path, shows the plan, and commits nothing', async () => {
    const { repository, commits } = await fleet(
      { 'apps/web.yaml': 'container_image: web:2\n' },
      { 'apps/web.yaml': null, 'apps/shop/web.yaml': 'container_image: web:2\n' },
    );
    const { code, out } = await run(repository, 'app/web', '--to', commits[0] ?? '');
    expect([code, await read(repository, 'apps/shop/web.yaml')]).toEqual([0, WEB]);
    expect(out).toMatch(/^~ app web .*\n- +container_image: web:2\n\+ +container_image: web:1\n/);
    expect(out).toContain('web restarts on edge');
    expect(await status(repository)).toBe(' M desired-state/apps/shop/web.yaml');
  });

  it('commits with --commit, as the user, with the reason and the trailer, and nothing else that is staged', async () => {
    const { repository, commits } = await fleet({ 'apps/web.yaml': WEB.replace('web:1', 'web:2') });
    await writeFile(join(repository.folder, 'notes.txt'), 'x');
    await repository.git('add', 'notes.txt');
    const { out } = await run(
      repository,
      'app/web',
      '--to',
      'HEAD~1',
      '--commit',
      '--reason',
      '500s since 2',
    );
    const head = await repository.git('rev-parse', 'HEAD');
    expect(out).toMatch(new RegExp(`\nCommitted ${head.slice(0, 12)}\\.\n$`));
    const first = commits[0] ?? '';
    expect(await repository.git('log', '-1', '--format=%an <%ae>%n%B')).toBe(
      `Pat <pat@example.com>\napp web: restore to ${first.slice(0, 12)} (container_image 2 -> 1)\n\n500s since 2\n\nRestores: ${first}\n`,
    );
    expect(await status(repository)).toBe('A  notes.txt');
    expect(await repository.git('diff', 'HEAD~2', 'HEAD', '--name-only')).toBe('');
  });

  it('brings back a deleted app with its comments', async () => {
    const { repository } = await fleet({
      'apps/web.yaml': null,
      'device-groups/edge.yaml': 'apps: [cron]\n',
    });
    expect((await run(repository, 'app/web', '--to', 'HEAD~1', '--commit')).code).toBe(0);
    expect(await repository.show('desired-state/apps/web.yaml')).toBe(WEB);
  });

  it('says which later changes of others go with it', async () => {
    const { repository, commits } = await fleet(
      { 'apps/web.yaml': WEB.replace('web:1', 'web:2') },
      { 'apps/web.yaml': WEB.replace('web:1', 'web:2').replace('info', 'debug') },
    );
    const { out } = await run(repository, 'app/web', '--to', 'HEAD~2', '--format', 'json');
    expect(JSON.parse(out).also_lost_complete).toBe(true);
    expect(JSON.parse(out).also_lost).toEqual([
      { object: 'app/web', field: 'container_image', by: commits[1], actor: 'Pat' },
      { object: 'app/web', field: 'env_vars.LEVEL', by: commits[2], actor: 'Pat' },
    ]);
  });

  it('needs the apps of a group that were deleted since, and brings them back with --with-dependencies', async () => {
    const { repository, commits } = await fleet({
      'apps/web.yaml': null,
      'device-groups/edge.yaml': 'apps: [cron]\n',
    });
    const args = ['device_group/edge', '--to', 'HEAD~1'];
    const refused = await run(repository, ...args);
    const why = `edge listed it, deleted in ${commits[1]?.slice(0, 12)}`;
    expect(refused).toMatchObject({ code: 1, out: expect.stringContaining(`needed: app/web: ${why}`) });
    expect(await status(repository)).toBe('');
    expect((await run(repository, ...args, '--with-dependencies')).code).toBe(0);
    expect([
      await read(repository, 'apps/web.yaml'),
      await read(repository, 'device-groups/edge.yaml'),
    ]).toEqual([WEB, FLEET['device-groups/edge.yaml']]);
  });

  it('keeps its trailer visible to git, whatever the reason is', async () => {
    const { repository, commits } = await fleet({ 'apps/web.yaml': 'container_image: web:2\n' });
    const options = ['--to', 'HEAD~1', '--commit', '--reason', 'first\n--- x\nlast\u202e'];
    expect((await run(repository, 'app/web', ...options)).code).toBe(0);
    expect(await repository.git('log', '-1', '--format=%B')).toContain('\n\nfirst\n --- x\nlast\\u202e\n');
    expect(await repository.git('log', '-1', '--format=%(trailers)')).toBe(`Restores: ${commits[0]}\n`);
  });

  it('deletes an app that did not exist then only with --allow-delete, and takes it out of its groups', async () => {
    const { repository } = await fleet({
      'apps/new.yaml': 'container_image: new:1\n',
      'device-groups/edge.yaml': 'apps: [web, new, cron] # all\n',
    });
    const refused = await run(repository, 'app/new', '--to', 'HEAD~1');
    expect(refused).toMatchObject({
      code: 1,
      out: expect.stringContaining('needed: app/new: did not exist in '),
    });
    expect((await run(repository, 'app/new', '--to', 'HEAD~1', '--allow-delete')).code).toBe(0);
    expect(await read(repository, 'apps/new.yaml')).toBe(null);
    expect(await read(repository, 'device-groups/edge.yaml')).toBe('apps: [web, cron] # all\n');
  });

  it('names the newest valid version if the file at the revision is not valid', async () => {
    const { repository, commits } = await fleet(
      { 'apps/web.yaml': 'container_image: [\n' },
      { 'apps/web.yaml': 'container_image: web:3\n' },
    );
    const { code, out } = await run(repository, 'app/web', '--to', 'HEAD~1');
    expect(code).toBe(1);
    expect(out).toContain('apps/web.yaml:2:1: error: ');
    expect(out).toContain(`The newest valid version before it: ${commits[0]?.slice(0, 12)}`);
    expect(await status(repository)).toBe('');
  });

  it('changes nothing if nothing differs', async () => {
    const { repository } = await fleet({ 'apps/cron.yaml': 'container_image: cron:2\n' });
    const { code, out } = await run(repository, 'app/web', '--to', 'HEAD~1', '--commit');
    expect([code, out]).toEqual([0, 'Nothing differs: there is nothing to take back.\n']);
  });

  it.each<[string, string[], RegExp]>([
    ['an unknown revision', ['app/web', '--to', 'nope'], /"nope" is not a commit of this repository/],
    [
      'an object that never existed',
      ['app/nope', '--to', 'HEAD'],
      /app\/nope exists neither in \w{12} nor now/,
    ],
    ['a name without a kind', ['web', '--to', 'HEAD'], /did you mean app\/web or device_group\/web\?/],
    [
      'neither way, and says where to look',
      ['app/web'],
      /say which commit: --to REVISION, .* or --undo REVISION\. To see them: holdfast history app\/web\n/,
    ],
    ['both ways', ['app/web', '--to', 'HEAD', '--undo', 'HEAD'], /either --to REVISION or --undo REVISION/],
    ['no object', ['--to', 'HEAD'], /name what goes back/],
  ])('refuses %s', async (_, args, message) => {
    const { repository } = await fleet();
    const { code, err } = await run(repository, ...args);
    expect(code).toBe(2);
    expect(err).toMatch(message);
    expect(await status(repository)).toBe('');
  });

  it('advises to fetch the history of a shallow clone', async () => {
    const { repository, commits } = await fleet({ 'apps/web.yaml': 'container_image: web:2\n' });
    const folder = join(await temporaryFolder(), 'clone');
    await repository.git('clone', '--quiet', '--depth', '1', `file://${repository.folder}`, folder);
    const clone = repositoryAt(folder);
    for (const args of [
      ['app/web', '--to', commits[0] ?? ''],
      ['--undo', commits[1] ?? ''],
    ])
      expect((await run(clone, ...args)).err).toContain(
        'this clone is shallow: fetch the whole history first',
      );
  });
});

describe('rollback --to of more than one object', () => {
  const LATER = {
    'apps/web.yaml': 'container_image: web:2\n',
    'apps/cron.yaml': 'container_image: cron:2\n',
    'apps/log.yaml': 'container_image: log:2\n',
    'device-groups/edge.yaml': 'apps: [web]\n',
  };
  const EARLIER = {
    ...FLEET,
    'apps/log.yaml': 'container_image: log:1\n',
  };

  it.each<[string, string[], string[]]>([
    ['two objects', ['app/web', 'app/cron'], ['apps/cron.yaml', 'apps/web.yaml']],
    ['a device group', ['--group', 'edge'], ['device-groups/edge.yaml']],
    [
      'a device group with the apps that it listed then',
      ['--group', 'edge', '--with-apps'],
      ['apps/cron.yaml', 'apps/web.yaml', 'device-groups/edge.yaml'],
    ],
    ['the whole fleet', ['--all'], Object.keys(LATER)],
  ])('brings back %s, in one commit', async (_name, args, paths) => {
    const { repository } = await fleet(EARLIER, LATER);
    const { code } = await run(repository, ...args, '--to', 'HEAD~1', '--commit');
    const files = await Promise.all(
      Object.keys(LATER).map(async (path) => [path, await read(repository, path)]),
    );
    const expected = Object.entries(LATER).map(([path, text]) => [
      path,
      paths.includes(path) ? EARLIER[path as keyof typeof EARLIER] : text,
    ]);
    expect([code, files]).toEqual([0, expected]);
    expect([await status(repository), await repository.git('rev-list', '--count', 'HEAD')]).toEqual([
      '',
      '4',
    ]);
  });

  it('deletes what is newer with --all only if --allow-delete is given', async () => {
    const { repository } = await fleet(EARLIER);
    const kept = await run(repository, '--all', '--to', 'HEAD~1');
    expect([kept.code, await status(repository)]).toEqual([1, '']);
    const gone = await run(repository, '--all', '--to', 'HEAD~1', '--allow-delete');
    expect([gone.code, await repository.git('status', '--porcelain')]).toEqual([
      0,
      ' D desired-state/apps/log.yaml',
    ]);
  });

  it('says which device group was probably meant', async () => {
    const { repository } = await fleet(EARLIER);
    const { code, err } = await run(repository, '--group', 'egde', '--to', 'HEAD~1');
    expect([code, err]).toEqual([2, expect.stringContaining('did you mean device_group/edge?')]);
  });

  it.each<[string[], string]>([
    [[], '--group NAME or --all'],
    [['app/web', '--all'], 'one of the three'],
    [['--all', '--with-apps'], '--with-apps goes with --group'],
    [['--group', 'edge', '--all'], 'one of the three'],
  ])('refuses %j', async (args, message) => {
    const { repository } = await fleet();
    const { code, err } = await run(repository, ...args, '--to', 'HEAD');
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });

  it('refuses --all with --undo', async () => {
    const { repository } = await fleet(EARLIER);
    const { code, err } = await run(repository, '--all', '--undo', 'HEAD');
    expect([code, err]).toEqual([2, expect.stringContaining('go with --to')]);
  });
});

describe('rollback changes all files or none', () => {
  const DELETED = { 'apps/web.yaml': null, 'device-groups/edge.yaml': 'apps: [cron]\n' };

  it('if one of them has changes that are not committed', async () => {
    const { repository } = await fleet(DELETED);
    await writeFile(join(repository.folder, 'desired-state/device-groups/edge.yaml'), 'apps: []\n');
    const { code, err } = await run(repository, '--undo', 'HEAD', '--commit');
    expect(code).toBe(3);
    expect(err).toContain('desired-state/device-groups/edge.yaml has changes that are not committed');
    expect(await status(repository)).toBe(' M desired-state/device-groups/edge.yaml');
  });

  it("if the user's hook refuses the commit, whose words are shown", async () => {
    const { repository } = await fleet(DELETED);
    const hook = join(repository.folder, '.git/hooks/pre-commit');
    await writeFile(hook, '#!/bin/sh\necho "not on a Friday" >&2\nexit 1\n');
    await chmod(hook, 0o755);
    const head = await repository.git('rev-parse', 'HEAD');
    const { code, err } = await run(repository, '--undo', 'HEAD', '--commit');
    expect([code, err]).toEqual([3, expect.stringMatching(/refused the commit.*\nnot on a Friday\n/s)]);
    expect([await status(repository), await repository.git('rev-parse', 'HEAD')]).toEqual(['', head]);
  });

  it('but not back over a commit that git made before it died', async () => {
    const { repository } = await fleet(DELETED);
    const hook = join(repository.folder, '.git/hooks/post-commit');
    await writeFile(hook, '#!/bin/sh\nkill -9 $PPID\n');
    await chmod(hook, 0o755);
    const head = await repository.git('rev-parse', 'HEAD');
    const { code, out } = await run(repository, '--undo', 'HEAD', '--commit');
    expect([code, await repository.git('rev-parse', 'HEAD~1')]).toEqual([0, head]);
    expect(out).toContain((await repository.git('rev-parse', 'HEAD')).slice(0, 12));
    expect(await status(repository)).toBe('');
  });

  it('and none with --dry-run', async () => {
    const { repository } = await fleet(DELETED);
    const { code, out } = await run(repository, '--undo', 'HEAD', '--dry-run');
    expect([code, out]).toEqual([0, expect.stringMatching(/^\+ app web .*Nothing was changed\.\n$/s)]);
    expect(await status(repository)).toBe('');
  });
});

describe('rollback --undo', () => {
  it('takes back the fields of a commit in the text of the file, and keeps later changes', async () => {
    const { repository } = await fleet(
      {
        'apps/web.yaml':
          '# the shop\ncontainer_image: web:2 # pinned\nrunning: false\nenv_vars:\n  LEVEL: info\n  NEW: "1"\n',
      },
      {
        'apps/web.yaml':
          '# our shop\ncontainer_image: web:2 # pinned\nrunning: false\nenv_vars:\n  LEVEL: debug\n  NEW: "1"\n',
      },
    );
    expect((await run(repository, '--undo', 'HEAD~1')).code).toBe(0);
    expect(await read(repository, 'apps/web.yaml')).toBe(
      '# our shop\ncontainer_image: web:1 # pinned\nenv_vars:\n  LEVEL: debug\n',
    );
  });

  it('is a conflict for a field that was changed again, and names who did', async () => {
    const { repository, commits } = await fleet(
      { 'apps/web.yaml': WEB.replace('web:1', 'web:2').replace('info', 'debug') },
      { 'apps/web.yaml': WEB.replace('web:1', 'web:3').replace('info', 'debug') },
      { 'apps/cron.yaml': 'container_image: cron:2\n' },
    );
    const { code, out } = await run(repository, '--undo', 'HEAD~2', '--format', 'json');
    expect([code, JSON.parse(out).conflicts]).toEqual([
      1,
      [{ object: 'app/web', field: 'container_image', by: commits[2], actor: 'Pat' }],
    ]);
    expect(await status(repository)).toBe('');
  });

  it('brings back the bytes of what a commit deleted, and puts an app back into its group', async () => {
    const { repository } = await fleet(
      { 'apps/web.yaml': null, 'device-groups/edge.yaml': 'apps: [cron]\n' },
      { 'apps/new.yaml': 'container_image: new:1\n', 'device-groups/edge.yaml': 'apps: [cron, new]\n' },
    );
    expect((await run(repository, '--undo', 'HEAD~1')).code).toBe(0);
    expect(await read(repository, 'apps/web.yaml')).toBe(WEB);
    expect(await read(repository, 'device-groups/edge.yaml')).toBe('apps: [cron, new, web]\n');
  });

  it('deletes what a commit created', async () => {
    const { repository } = await fleet({
      'apps/new.yaml': 'container_image: new:1\n',
      'device-groups/edge.yaml': 'apps: [web, cron, new]\n',
    });
    expect((await run(repository, '--undo', 'HEAD')).code).toBe(0);
    expect([
      await read(repository, 'apps/new.yaml'),
      await read(repository, 'device-groups/edge.yaml'),
    ]).toEqual([null, FLEET['device-groups/edge.yaml']]);
  });

  it('has nothing to do if it was done already, and takes itself back', async () => {
    const { repository } = await fleet({ 'apps/web.yaml': WEB.replace('web:1', 'web:2') });
    const change = await repository.git('rev-parse', 'HEAD');
    expect((await run(repository, '--undo', change, '--commit')).out).toContain('Committed');
    expect(await repository.git('log', '-1', '--format=%(trailers:key=Undoes,valueonly)')).toContain(change);
    expect((await run(repository, '--undo', change, '--commit')).out).toContain('Nothing differs');
    expect((await run(repository, '--undo', 'HEAD', '--commit')).code).toBe(0);
    expect(await repository.show('desired-state/apps/web.yaml')).toBe(WEB.replace('web:1', 'web:2'));
  });

  it('takes back only the named object', async () => {
    const { repository } = await fleet({
      'apps/web.yaml': 'container_image: web:2\n',
      'apps/cron.yaml': 'container_image: cron:2\n',
    });
    expect((await run(repository, 'app/cron', '--undo', 'HEAD')).code).toBe(0);
    expect(await status(repository)).toBe(' M desired-state/apps/cron.yaml');
  });

  it('takes back a merge as what it brought to its first parent', async () => {
    const { repository } = await fleet();
    await repository.git('switch', '--quiet', '--create', 'topic');
    await repository.commit(inDesiredState({ 'apps/web.yaml': WEB.replace('web:1', 'web:2') }));
    await repository.git('switch', '--quiet', 'main');
    await repository.commit(inDesiredState({ 'apps/cron.yaml': 'container_image: cron:2\n' }));
    await repository.git('merge', '--quiet', '--no-edit', 'topic');
    expect((await run(repository, '--undo', 'HEAD')).code).toBe(0);
    expect([await read(repository, 'apps/web.yaml'), await status(repository)]).toEqual([
      WEB,
      ' M desired-state/apps/web.yaml',
    ]);
  });

  it('says that a shallow clone does not have what a commit changed', async () => {
    const { repository } = await fleet({ 'apps/web.yaml': 'container_image: web:2\n' });
    const folder = join(await temporaryFolder(), 'clone');
    await repository.git('clone', '--quiet', '--depth', '1', `file://${repository.folder}`, folder);
    const { err } = await run(repositoryAt(folder), '--undo', 'HEAD');
    expect(err).toMatch(/what \w{12} changed is not in this clone, which is shallow: git fetch --unshallow/);
  });

  it('refuses a commit that changed nothing of the fleet', async () => {
    const { repository } = await fleet();
    await repository.commit({ 'notes.txt': 'x' });
    expect((await run(repository, '--undo', 'HEAD')).err).toMatch(
      /\w{12} changed no file of the desired state/,
    );
  });
});
