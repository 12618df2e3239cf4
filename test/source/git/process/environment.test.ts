import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, chmod, mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openClone } from '../../../../src/source/git/clone/clone.ts';
import { gitEnvironment } from '../../../../src/source/git/process/environment.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../../../support/git.ts';
import { draftOf } from '../support.ts';

const PATH = process.env['PATH'];

/** A user's environment that would change what nearly every git command does. Its programs write to `trap`. */
async function hostileMachine(trap: string): Promise<Record<string, string | undefined>> {
  const home = await temporaryFolder();
  const tool = join(home, 'tool.sh');
  await writeFile(tool, `#!/bin/sh\necho "$0 $*" >> "${trap}"\n`);
  await chmod(tool, 0o755);
  await mkdir(join(home, 'template/hooks'), { recursive: true });
  await writeFile(join(home, 'template/hooks/reference-transaction'), `#!/bin/sh\ntouch "${trap}"\n`, {
    mode: 0o755,
  });
  await mkdir(join(home, 'hooks'));
  for (const hook of HOOKS)
    await writeFile(join(home, 'hooks', hook), `#!/bin/sh\ntouch "${trap}"\n`, { mode: 0o755 });
  await writeFile(
    join(home, '.gitconfig'),
    `[core]\n\thooksPath = ${home}/hooks\n\tfsmonitor = ${tool}\n\tautocrlf = true\n\tpager = ${tool}\n\teditor = ${tool}
[init]\n\ttemplateDir = ${home}/template\n\tdefaultBranch = odd
[alias]\n\tls-tree = !${tool}\n\tcat-file = !${tool}
[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = ${tool}
[log]\n\tshowSignature = true\n\tshowRoot = false\n[user]\n\tname = Wrong\n\temail = wrong@example.com\n`,
  );
  const wrong = await testRepository();
  return {
    PATH,
    HOME: home,
    XDG_CONFIG_HOME: home,
    LANG: 'de_DE.UTF-8',
    LC_ALL: 'de_DE.UTF-8',
    LANGUAGE: 'de',
    GIT_DIR: join(wrong.folder, '.git'),
    GIT_WORK_TREE: wrong.folder,
    GIT_INDEX_FILE: join(wrong.folder, 'odd-index'),
    GIT_OBJECT_DIRECTORY: join(wrong.folder, '.git/objects'),
    GIT_NAMESPACE: 'odd',
    GIT_CONFIG_PARAMETERS: "'core.bare'='true'",
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: 'core.bare',
    GIT_CONFIG_VALUE_0: 'true',
    GIT_EXTERNAL_DIFF: tool,
    GIT_PAGER: tool,
    GIT_EDITOR: tool,
    GIT_ASKPASS: tool,
    GIT_SSH_COMMAND: tool,
    GIT_TRACE: trap,
    GIT_AUTHOR_NAME: 'Wrong',
    GIT_COMMITTER_EMAIL: 'wrong@example.com',
    GIT_COMMITTER_DATE: '2001-01-01T00:00:00Z',
    GIT_CEILING_DIRECTORIES: tmpdir(),
    GIT_LITERAL_PATHSPECS: '0',
    GIT_EXEC_PATH: home,
  };
}

const HOOKS = [
  'reference-transaction',
  'post-index-change',
  'post-checkout',
  'pre-commit',
  'prepare-commit-msg',
  'commit-msg',
  'post-commit',
  'post-rewrite',
  'post-merge',
  'pre-auto-gc',
  'update',
  'post-update',
  'pre-receive',
  'fsmonitor-watchman',
] as const;

/** Adds hooks and programs to the repository's own configuration; each writes to `trap` when it runs. */
async function setTraps({ folder, git }: TestRepository, trap: string): Promise<void> {
  const hooks = join(folder, '.git/hooks');
  await mkdir(hooks, { recursive: true });
  for (const hook of HOOKS) {
    await writeFile(join(hooks, hook), `#!/bin/sh\necho ${hook} >> "${trap}"\n`, { mode: 0o755 });
  }
  // Newer gits also run hooks from settings, regardless of the hooks folder.
  const settings = HOOKS.map(
    (hook) => `[hook "trap ${hook}"]\n\tevent = ${hook}\n\tcommand = echo set ${hook} >> '${trap}'\n`,
  );
  // A hook with the name of an event prevents git from switching off all hooks of the event at once.
  settings.push('[hook "reference-transaction"]\n\tcommand = true\n');
  await appendFile(join(folder, '.git/config'), settings.join(''));
  await git('config', 'core.hooksPath', hooks);
  await git('config', 'core.fsmonitor', join(hooks, 'fsmonitor-watchman'));
  await git('config', 'core.pager', `touch ${trap}`);
  await git('config', 'gpg.program', join(hooks, 'update'));
  await git('config', 'commit.gpgSign', 'true');
  await git('config', 'log.showSignature', 'true');
  await git('config', 'credential.helper', `!touch ${trap}`);
  await git('config', 'diff.external', join(hooks, 'update'));
  await git('config', 'diff.renames', 'true');
  await git('config', 'log.showRoot', 'false');
  await git('config', 'log.follow', 'true');
  await git('config', 'diff.orderFile', join(hooks, 'none'));
  await git('config', 'gc.auto', '1');
}

/** Publishes a commit, and reads all that the manager reads. */
async function useEverything(folder: string, env: Readonly<Record<string, string | undefined>>) {
  const machine = { env, timeLimit: 60_000 };
  const source = await openClone({ folder, branch: null, machine, dataFolder: await temporaryFolder() });
  onTestFinished(async () => {
    await Promise.all([source.reader.close(), source.publisher.close()]);
  });
  const { reader, publisher } = source;
  const before = await reader.head();
  const published = await publisher.publish(before, [
    draftOf({ 'apps/web.yaml': 'container_image: nginx:2\n', 'apps/new.yaml': 'container_image: new\n' }),
  ]);
  const after = await reader.head();
  const tree = (await reader.folderTree(after.revision as string)) as string;
  const first = before.revision === null ? null : await reader.folderTree(before.revision);
  return {
    source,
    revision: after.revision,
    isOurs: published[0] === after.revision,
    paths: (await reader.list(tree)).map(({ path }) => path),
    changed: first === null ? [] : ((await reader.changes(first, tree)) ?? []).map(({ path }) => path),
    history: await reader.history(),
    isAncestor:
      before.revision === null || (await reader.isAncestor(before.revision, after.revision as string)),
  };
}

describe('gitEnvironment', () => {
  it('passes on only what git needs to run', () => {
    const env = gitEnvironment(
      { PATH: '/bin', TMPDIR: '/t', HOME: '/h', GIT_DIR: 'x', LD_PRELOAD: 'y', EMPTY: undefined },
      [],
    );
    expect(env).toMatchObject({ PATH: '/bin', TMPDIR: '/t', HOME: '/nonexistent', LC_ALL: 'C' });
    expect(env).not.toHaveProperty('GIT_DIR');
    expect(env).not.toHaveProperty('LD_PRELOAD');
  });

  it('passes settings on as numbered variables, and their count', () => {
    const env = gitEnvironment({}, ['/a', '/b']);
    const count = Number(env['GIT_CONFIG_COUNT']);
    const keys = Array.from({ length: count }, (_, index) => env[`GIT_CONFIG_KEY_${index}`]);
    expect(keys.every((key) => key !== undefined)).toBe(true);
    expect(env[`GIT_CONFIG_KEY_${count}`]).toBeUndefined();
    expect(keys.filter((key) => key === 'safe.directory')).toHaveLength(2);
    expect(env[`GIT_CONFIG_VALUE_${count - 1}`]).toBe('/b');
  });

  it('overrides the settings of the repository, as git itself reads them', async () => {
    const { folder, git } = await testRepository();
    await setTraps({ folder, git } as TestRepository, join(folder, 'trap'));
    const env = gitEnvironment({ PATH }, []);
    const read = (key: string): string =>
      execFileSync('git', ['config', '--get', key], { cwd: folder, env, encoding: 'utf8' }).trim();
    expect(read('core.hooksPath')).toBe('/dev/null');
    expect(read('core.fsmonitor')).toBe('false');
    expect(read('fastimport.unpackLimit')).toBe('1');
    expect(read('log.showSignature')).toBe('false');
  });
});

describe('a hostile environment and repository', () => {
  it('do not affect reads and writes, and none of their programs runs', async () => {
    const repository = await testRepository();
    const trap = join(await temporaryFolder(), 'trap');
    const files = {
      'ds/apps/web.yaml': 'container_image: nginx:1\n',
      'ds/apps/old.yaml': 'container_image: old\n',
    };
    const first = await repository.commit(files);
    const second = await repository.commit({ 'ds/apps/old.yaml': null });
    await setTraps(repository, trap);

    const seen = await useEverything(join(repository.folder, 'ds'), await hostileMachine(trap));

    expect(seen).toMatchObject({
      isOurs: true,
      paths: ['apps/new.yaml', 'apps/web.yaml'],
      changed: ['apps/new.yaml', 'apps/web.yaml'],
      isAncestor: true,
    });
    expect([...seen.history.paths].sort()).toEqual(['apps/new.yaml', 'apps/old.yaml', 'apps/web.yaml']);
    expect(seen.history.isComplete).toBe(true);
    expect(existsSync(trap)).toBe(false);
    // Proof that the traps work: a user's own command runs them.
    await repository.git('update-ref', 'refs/heads/other', 'HEAD');
    expect(existsSync(trap)).toBe(true);
    // Without the traps, to check the result as a user.
    for (const key of [
      'core.hooksPath',
      'core.fsmonitor',
      'diff.external',
      'log.showRoot',
      'log.showSignature',
    ])
      await repository.git('config', '--unset', key);
    await repository.git('config', 'core.hooksPath', '/dev/null');
    expect(await repository.git('log', '--format=%H %an <%ae> %cn <%ce> %ct', '-2')).toBe(
      `${seen.revision} Olga <olga@example.com> Holdfast <holdfast@holdfast.invalid> 1700000000\n${second} ${await repository.git('log', '-1', '--format=%an <%ae> %cn <%ce> %ct', second)}`,
    );
    expect(await repository.git('status', '--porcelain')).toBe('');
    expect(await repository.git('rev-parse', 'HEAD~2')).toBe(first);
  });

  it('do not affect the creation of a repository', async () => {
    const folder = await temporaryFolder();
    const trap = join(await temporaryFolder(), 'trap');
    await writeFiles(folder, { 'apps/web.yaml': 'container_image: nginx:1\r\n' });

    const seen = await useEverything(folder, await hostileMachine(trap));

    expect(seen).toMatchObject({ isOurs: true, paths: ['apps/new.yaml', 'apps/web.yaml'] });
    expect(existsSync(trap)).toBe(false);
    expect(existsSync(join(folder, '.git/hooks'))).toBe(false);
    const { git, show } = repositoryAt(folder);
    expect(await show('apps/web.yaml', 'HEAD~1')).toBe('container_image: nginx:1\r\n');
    expect(await git('symbolic-ref', 'HEAD')).toBe('refs/heads/main');
    expect(await git('log', '-1', '--format=%an %cn', 'HEAD~1')).toBe('Holdfast Holdfast');
  });
});
