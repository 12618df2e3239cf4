import { mkdir, symlink, truncate } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/command.ts';
import { temporaryFolder, writeFiles } from '../support/folder.ts';

const FLEET = {
  'README.md': '# our fleet',
  'apps/web.yaml': 'container_image: web:1\n',
  'apps/team/cron.yml': 'container_image: cron:1\n',
  'device-groups/edge.yaml': 'apps: [web, cron]\n',
};

async function fleet(files: Readonly<Record<string, string>> = FLEET): Promise<string> {
  const folder = await temporaryFolder();
  await writeFiles(folder, files);
  return folder;
}

describe('validate', () => {
  it('finds nothing wrong with a good folder', async () => {
    const folder = await fleet();
    expect(await runCli(['validate', folder])).toMatchObject({
      code: 0,
      out: `${folder}: 2 apps and 1 device group, 0 problems\n`,
      err: '',
    });
  });

  it('takes an empty folder for a fleet without objects', async () => {
    const folder = await temporaryFolder();
    expect(await runCli(['validate', folder])).toMatchObject({
      code: 0,
      out: `${folder}: 0 apps and 0 device groups, 0 problems\n`,
    });
  });

  it.each([
    ['validate', 'an empty folder', {}, ''],
    ['validate', 'a folder in the fleet', FLEET, '/apps'],
    ['plan', 'a folder in the fleet', FLEET, '/apps'],
    ['plan', 'the folder above', { 'desired-state/apps/web.yaml': 'container_image: web:1\n' }, ''],
  ])(
    '%s warns of what holds no object, which may be the wrong folder: %s',
    async (command, _name, files, below) => {
      const folder = `${await fleet(files)}${below}`;
      const { code, err } = await runCli([command, folder]);
      expect([code, err]).toEqual([0, expect.stringContaining(`${folder} has neither apps/ nor`)]);
    },
  );

  it.each(['validate', 'plan'])('%s: a folder that is not there is a wrong usage', async (command) => {
    const { code, err } = await runCli([command, join(await fleet(), 'none')]);
    expect([code, err]).toEqual([2, expect.stringContaining('is not a folder')]);
  });

  it.each(['validate', 'plan'])('%s: a folder that cannot be read is no wrong usage', async (command) => {
    const folder = join(await fleet({}), 'loop');
    await symlink('loop', folder);
    const { code, err } = await runCli([command, folder]);
    expect([code, err]).toEqual([3, expect.stringMatching(/^holdfast: ELOOP: /)]);
  });

  it('plan --against in no repository is a wrong usage', async () => {
    const folder = await fleet();
    const { code, err } = await runCli(['plan', folder, '--against', 'main']);
    const message = `${folder} is not in a git repository, so there is no "main"`;
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });

  it('takes DESIRED_STATE where it is given no folder', async () => {
    const folder = await fleet({ 'apps/web.yaml': 'container_image: web:1\n' });
    const { code, out } = await runCli(['validate'], { env: { DESIRED_STATE: folder } });
    expect([code, out]).toEqual([0, `${folder}: 1 app and 0 device groups, 0 problems\n`]);
  });

  it('warns of a file that is not read, and that is no problem', async () => {
    const folder = await fleet({ ...FLEET, 'notes.txt': 'x' });
    const { code, out } = await runCli(['validate', folder]);
    expect(code).toBe(0);
    expect(out).toMatch(/notes\.txt:1:1: warning: is not read: .* \[file-unexpected\]\n/);
    expect(out).toMatch(/, 0 problems, 1 warning\n$/);
  });

  it('tells every problem with the place where it can be mended, as seen from here', async () => {
    const folder = await fleet({
      ...FLEET,
      'apps/web.yaml': 'container_image: web:1\nprivileged: "no"\n',
      'apps/old.yaml': 'docker_image: old:1\n',
      'device-groups/lab.yaml': 'apps:\n  - web\n  - nobody\n  - old\n',
      'device-groups/x/edge.yaml': 'apps: []\n',
    });
    const here = relative(process.cwd(), folder);
    const { code, out } = await runCli(['validate', `${here}/`]);
    expect(code).toBe(1);
    expect(out.split('\n').map((line) => line.replace(`${here}/`, ''))).toEqual([
      'apps/old.yaml:1:1: error: container_image is required [field-missing]',
      'apps/old.yaml:1:1: error: docker_image is called container_image here [field-unknown]',
      'apps/web.yaml:2:1: error: privileged must be true or false, not a string; write false [field-invalid]',
      expect.stringContaining('device-groups/edge.yaml:1:1: error: duplicate name "edge", also used by'),
      'device-groups/lab.yaml:3:5: error: there is no app "nobody"; add apps/nobody.yaml, or remove the name from this list [app-unknown]',
      expect.stringContaining('device-groups/x/edge.yaml:1:1: error: duplicate name "edge", also used by'),
      ': 3 apps and 2 device groups, 6 problems',
      '',
    ]);
  });

  it('refuses links, repositories and files that are too large, without reading them', async () => {
    const folder = await fleet(FLEET);
    await symlink('/etc/passwd', join(folder, 'apps/link.yaml'));
    await symlink('.', join(folder, 'apps/loop'));
    await mkdir(join(folder, 'apps/vendor/.git'), { recursive: true });
    await writeFiles(folder, { 'apps/vendor/x.yaml': 'container_image: x\n', 'apps/large.yaml': '' });
    await truncate(join(folder, 'apps/large.yaml'), 2 ** 40);
    const { code, out } = await runCli(['validate', folder, '--format', 'json']);
    expect(code).toBe(1);
    const { problems } = JSON.parse(out) as { problems: { file: string; code: string }[] };
    expect(problems.map((problem) => `${relative(folder, problem.file)} ${problem.code}`)).toEqual([
      'apps/large.yaml file-too-large',
      'apps/link.yaml file-symlink',
      'apps/loop file-symlink',
      'apps/vendor file-submodule',
    ]);
  });

  it('writes JSON for programs', async () => {
    const folder = await fleet({ 'apps/web.yaml': 'container_image: 1\n' });
    const { code, out } = await runCli(['validate', '--format=json', folder]);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toEqual({
      problems: [
        {
          file: `${folder}/apps/web.yaml`,
          line: 1,
          column: 1,
          code: 'field-invalid',
          message: 'container_image must be a string, not a number; write it in quotes',
          severity: 'error',
        },
      ],
      steps: [],
      effects: [],
    });
  });

  it('writes annotations for a workflow', async () => {
    const folder = await fleet({
      'apps/a,b,c:d%%.yaml': 'x: 1\n',
      'apps/web.yaml': 'a: *b\n',
      'notes.txt': '',
    });
    const { code, out } = await runCli(['validate', '--format', 'github', folder]);
    expect(code).toBe(1);
    expect(out.replaceAll(folder, 'FOLDER').split('\n')).toEqual([
      expect.stringMatching(
        /^::error file=FOLDER\/apps\/a%2Cb%2Cc%3Ad%25%25\.yaml,line=1,col=1,title=name-invalid::the file's name/,
      ),
      '::error file=FOLDER/apps/web.yaml,line=1,col=4,title=yaml-alias::write the value out instead of this alias; put it in quotes if it is a value that begins with "*"',
      expect.stringMatching(
        /^::warning file=FOLDER\/notes\.txt,line=1,col=1,title=file-unexpected::is not read/,
      ),
      'FOLDER: 1 app and 0 device groups, 2 problems, 1 warning',
      '',
    ]);
  });

  it('fills in the networks that the settings say', async () => {
    const folder = await fleet({ 'apps/web.yaml': 'container_image: web\n' });
    expect(await runCli(['validate', folder], { env: { DEFAULT_NETWORKS: 'fleet' } })).toMatchObject({
      code: 0,
    });
  });
});
