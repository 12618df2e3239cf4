import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { inDesiredState, temporaryFolder, writeFiles } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { REASON } from './expected.ts';

/** Runs a command line in this process; `json` parses its output. */
async function run(argv: string[], env: Record<string, string> = {}) {
  const result = await runCli(argv, { env });
  const json = (): { problems: Record<string, unknown>[]; steps: Record<string, unknown>[] } =>
    JSON.parse(result.out);
  return { ...result, json };
}

async function folderWith(files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder();
  await writeFiles(folder, files);
  return folder;
}

const BROKEN = {
  ...SMALL_FLEET,
  'apps/web.yaml': '# web\ncontainer_image: a\nrunning: 7\n',
  'device-groups/edge.yaml': 'apps: [nope]\n',
};

describe('docs/contract.md, 12.2: validate [FOLDER]', () => {
  it('exit code 0: no problem', async () => {
    const { code, out, err } = await run(['validate', await folderWith(SMALL_FLEET)]);
    expect([code, err]).toEqual([0, '']);
    expect(out).not.toBe('');
  });

  it('exit code 0: also with a warning', async () => {
    const { code, out } = await run(['validate', await folderWith({ ...SMALL_FLEET, 'notes.txt': 'x' })]);
    expect(code).toBe(0);
    expect(out).toContain('notes.txt');
  });

  it('exit code 1: problems found; text names file, line and column', async () => {
    const folder = await folderWith(BROKEN);
    const { code, out } = await run(['validate', folder]);
    expect(code).toBe(1);
    expect(out).toContain(`${folder}/apps/web.yaml:3:1`);
    expect(out).toMatch(/device-groups\/edge\.yaml:1:\d+/);
    expect(out).toContain('nope');
  });

  it('--format json: {"problems": [{file, line, column, code, message}], "steps": [...]}', async () => {
    const folder = await folderWith(BROKEN);
    const { code, json } = await run(['validate', folder, '--format', 'json']);
    expect(code).toBe(1);
    const { problems, steps } = json();
    expect(steps).toEqual([]);
    expect(problems).toHaveLength(2);
    expect(problems[0]).toMatchObject({
      file: expect.stringMatching(/apps\/web\.yaml$/),
      line: 3,
      column: 1,
      code: REASON,
      message: REASON,
    });
    const fine = await run(['validate', await folderWith(SMALL_FLEET), '--format=json']);
    expect(fine.json()).toMatchObject({ problems: [], steps: [] });
  });

  it('--format github: workflow annotations', async () => {
    const { code, out } = await run(['validate', await folderWith(BROKEN), '--format', 'github']);
    expect(code).toBe(1);
    expect(out).toMatch(/^::error file=[^\n]*apps\/web\.yaml,line=3,col(umn)?=1[^\n]*::\S/m);
    expect(out.split('\n').filter((line) => line.startsWith('::'))).toHaveLength(2);
  });

  it('--format github: the content of a file cannot add commands to the workflow', async () => {
    const files = {
      'apps/web.yaml': 'container_image: a\n"x\\n::set-env name=a::b": 1\n',
      'apps/a%0A::error::x.yaml': 'x\n',
    };
    const { out } = await run(['validate', await folderWith(files), '--format', 'github']);
    const commands = out.split('\n').filter((line) => line.startsWith('::'));
    expect(commands).toEqual([
      expect.stringMatching(/^::error file=/),
      expect.stringMatching(/^::error file=/),
    ]);
  });

  it('with no folder takes DESIRED_STATE', async () => {
    const folder = await folderWith(BROKEN);
    const { code, out } = await run(['validate'], { DESIRED_STATE: folder });
    expect(code).toBe(1);
    expect(out).toContain(folder);
  });

  it('exit code 0: a folder whose apps/ is empty; 2: a folder without apps/ and device-groups/', async () => {
    const folder = await temporaryFolder();
    expect((await run(['validate', folder])).code).toBe(2);
    await mkdir(join(folder, 'apps'));
    expect((await run(['validate', folder])).code).toBe(0);
  });

  it.each([
    ['an unknown command', ['destroy']],
    ['no command', []],
    ['an unknown flag', ['validate', '--force']],
    ['an unknown format', ['validate', '.', '--format', 'xml']],
    ['--format without a value', ['validate', '.', '--format']],
    ['two folders', ['validate', 'a', 'b']],
    ['a flag of another command', ['validate', '.', '--against', 'HEAD']],
    ['a folder that does not exist', ['validate', '/nonexistent/folder']],
    ['an unknown flag of serve', ['serve', '--colour', 'red']],
    ['a bad setting', ['serve', '--port', 'x']],
  ])('exit code 2: wrong usage or settings: %s', async (_, argv) => {
    const { code, out, err } = await run(argv);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(/\S/);
    expect(err).not.toMatch(/^\s+at /m);
  });

  it('exit code 2: wrong usage or settings: a bad setting in the environment', async () => {
    expect((await run(['validate', '.'], { DEFAULT_NETWORKS: 'a,,b' })).code).toBe(2);
  });

  it('--help shows commands, that of serve settings and flags; --version shows the version', async () => {
    const { code, out } = await run(['--help']);
    expect(code).toBe(0);
    for (const word of ['serve', 'validate', 'plan']) expect(out).toContain(word);
    const { out: settings } = await run(['serve', '--help']);
    for (const word of ['PORT', '--port', 'DEFAULT_NETWORKS', 'STRICT']) expect(settings).toContain(word);
    expect(await run(['--version'])).toMatchObject({ code: 0, out: '1.2.3\n' });
  });
});

describe('docs/contract.md, 12.2: plan [FOLDER] [--against REVISION]', () => {
  async function fleet() {
    const repository = await testRepository();
    await repository.commit(inDesiredState(SMALL_FLEET));
    return { repository, folder: join(repository.folder, 'desired-state') };
  }

  it('exit code 0: nothing would change, also with --exit-code', async () => {
    const { folder } = await fleet();
    for (const more of [[], ['--exit-code'], ['--against', 'HEAD'], ['--against', 'main']]) {
      const { code, json } = await run(['plan', folder, '--format', 'json', ...more]);
      expect([code, json().steps, json().problems]).toEqual([0, [], []]);
    }
  });

  it('exit code 0, or 1 with --exit-code: a plan that is not empty', async () => {
    const { folder } = await fleet();
    await writeFiles(folder, {
      'apps/web.yaml': 'container_image: nginx:1.27\n',
      'apps/new.yaml': 'container_image: n\n',
    });
    const { code, json } = await run(['plan', folder, '--format', 'json']);
    expect(code).toBe(0);
    expect(
      json()
        .steps.map(({ name }) => name)
        .sort(),
    ).toEqual(['new', 'web']);
    const text = await run(['plan', folder, '--exit-code']);
    expect(text.code).toBe(1);
    expect(text.out).toContain('nginx:1.27');
    expect(text.out).toContain('new');
  });

  it('exit code 0, also with --exit-code: files differ, but mean the same', async () => {
    const { folder } = await fleet();
    await writeFiles(folder, {
      'apps/cron.yaml': '# a comment\nrunning: false\ncontainer_image: "cron:3"\nvolumes: []\n',
    });
    const { code, json } = await run(['plan', folder, '--exit-code', '--format', 'json']);
    expect([code, json().steps]).toEqual([0, []]);
  });

  it('--against REVISION: compares with this commit in place of HEAD', async () => {
    const { repository, folder } = await fleet();
    await repository.commit({ 'desired-state/apps/web.yaml': 'container_image: nginx:1.27\n' });
    expect((await run(['plan', folder, '--format', 'json'])).json().steps).toEqual([]);
    for (const revision of ['HEAD~1', await repository.git('rev-parse', 'HEAD~1')]) {
      const { json } = await run(['plan', folder, '--against', revision, '--format', 'json']);
      expect(json().steps.map(({ name }) => name)).toEqual(['web']);
    }
  });

  it('exit code 1: problems found, and the rest of the plan is shown', async () => {
    const { folder } = await fleet();
    await writeFiles(folder, { 'apps/web.yaml': '[', 'apps/new.yaml': 'container_image: n\n' });
    const { code, json } = await run(['plan', folder, '--format', 'json']);
    expect(code).toBe(1);
    expect(json().problems).toMatchObject([{ file: expect.stringMatching(/apps\/web\.yaml$/) }]);
    expect(json().steps.map(({ name }) => name)).toEqual(['new']);
  });

  it('--format github: no "##[" is shown, which begins a command anywhere in a line', async () => {
    const files = {
      'apps/web.yaml':
        'container_image: a\nenv_vars:\n  A: "##[set-output name=a]b"\n  "##[x]": "##vso[x]"\n',
      'apps/##[x]/db.yaml': 'container_image: b\n',
    };
    const { code, out } = await run(['plan', await folderWith(files), '--format', 'github']);
    expect([code, out]).toEqual([0, expect.not.stringMatching(/##\w*\[/)]);
    expect(out).toContain('"\\u0023#[set-output name=a]b"');
  });

  it('--format json: "##[" is escaped, and parsing gives the content of the file', async () => {
    const files = {
      'apps/web.yaml': 'container_image: a\nenv_vars:\n  A: "\\\\###[x]"\n  "##[x]": "##vso[x]"\n',
    };
    const { out, json } = await run(['plan', await folderWith(files), '--format', 'json']);
    expect(out).not.toMatch(/##\w*\[/);
    const env = { A: '\\###[x]', '##[x]': '##vso[x]' };
    expect(json()).toMatchObject({ steps: [{ after: { env_vars: env } }] });
  });

  it('plan and validate leave no file and no ref behind', async () => {
    const { repository, folder } = await fleet();
    const refs = await repository.git('for-each-ref');
    await run(['plan', folder]);
    await run(['validate', folder]);
    expect(await repository.git('status', '--porcelain', '--ignored')).toBe('');
    expect(await repository.git('for-each-ref')).toBe(refs);
  });

  it.each([
    ['an unknown revision', ['--against', 'nope']],
    ['a revision that looks like a flag', ['--against', '--output=/tmp/x']],
    ['an empty revision', ['--against', '']],
    ['a revision with a line break', ['--against', 'HEAD\nHEAD']],
    ['a range', ['--against', 'HEAD..HEAD']],
  ])('exit code 2: wrong usage: %s', async (_, more) => {
    const { folder } = await fleet();
    expect((await run(['plan', folder, ...more])).code).toBe(2);
  });

  it.each([
    ['the tree of apps/', 'HEAD:desired-state/apps'],
    ['the tree of the folder', 'HEAD:desired-state'],
    ['the commit', 'HEAD'],
  ])('exit code 3: the command itself failed: the object of %s is damaged', async (_, name) => {
    const { repository, folder } = await fleet();
    const id = await repository.git('rev-parse', name);
    const object = join(repository.folder, '.git/objects', id.slice(0, 2), id.slice(2));
    await chmod(object, 0o644);
    await writeFile(object, 'damaged');
    const { code, err } = await run(['plan', folder]);
    expect(code).toBe(3);
    expect(err).toMatch(/\S/);
    expect(err).not.toMatch(/^\s+at /m);
  });

  it('exit code 3: the command itself failed: .git is so damaged that git takes it for no repository', async () => {
    const { repository, folder } = await fleet();
    await writeFile(join(repository.folder, '.git/HEAD'), 'damaged');
    const { code, err } = await run(['plan', folder]);
    expect([code, err]).toEqual([3, expect.stringContaining('repair it')]);
  });

  it('exit code 3: the command itself failed: there is no git', async () => {
    const { folder } = await fleet();
    const { code, err } = await run(['plan', folder], { PATH: '/nonexistent' });
    expect([code, err]).toEqual([3, expect.stringContaining('git cannot be run')]);
  });

  it.each([
    ['a branch', ['switch', '--quiet', 'main']],
    ['a detached HEAD', ['switch', '--quiet', '--detach']],
  ])(
    'exit code 3: the command itself failed: the object of the commit is missing, on %s',
    async (_, checkout) => {
      const { repository, folder } = await fleet();
      await repository.git(...checkout);
      const id = await repository.git('rev-parse', 'HEAD');
      await rm(join(repository.folder, '.git/objects', id.slice(0, 2), id.slice(2)));
      const { code, err } = await run(['plan', folder]);
      expect([code, err]).toEqual([3, expect.stringContaining('git fsck')]);
    },
  );
});
