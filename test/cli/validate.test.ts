import { chmod, mkdir, symlink, truncate } from 'node:fs/promises';
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

/** Runs a task as a user without rights, if the tests run as root, who may read everything. */
async function asNobody<T>(task: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return task();
  process.seteuid?.(65_534);
  try {
    return await task();
  } finally {
    process.seteuid?.(0);
  }
}

async function fleet(files: Readonly<Record<string, string>> = FLEET): Promise<string> {
  const folder = await temporaryFolder();
  await writeFiles(folder, files);
  return folder;
}

describe('validate', () => {
  it('reports no problem of a valid folder', async () => {
    const folder = await fleet();
    expect(await runCli(['validate', folder])).toMatchObject({
      code: 0,
      out: `${folder}: 2 apps and 1 device group, 0 problems\n`,
      err: '',
    });
  });

  it('accepts a folder with an empty apps/ as a fleet without objects', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'apps'));
    expect(await runCli(['validate', folder])).toMatchObject({
      code: 0,
      out: `${folder}: 0 apps and 0 device groups, 0 problems\n`,
    });
  });

  const PARENT = { 'fleet/apps/web.yaml': 'container_image: web:1\n' };

  describe.each(['validate', 'plan'])('%s', (command) => {
    it.each<[string, Readonly<Record<string, string>>, string, RegExp]>([
      ['an empty folder', {}, '', /in \S+[^?]$/],
      ['a folder of something else', { 'src/main.ts': '' }, '', /in \S+[^?]$/],
      ['a subfolder of the fleet', FLEET, '/apps/team', /apps\/team; did you mean (?!\S+\/apps\?)\S+\?$/],
      ['the parent folder', PARENT, '', /; did you mean \S+\/fleet\?$/],
    ])('refuses %s as the wrong folder, and names the right one', async (_name, files, below, hint) => {
      const folder = `${await fleet(files)}${below}`;
      const { code, out, err } = await runCli([command, folder]);
      const [message = ''] = err.split('\n');
      expect([code, out]).toEqual([2, '']);
      expect(message).toContain(`there is no apps/ and no device-groups/ in ${folder}`);
      expect(message).toMatch(hint);
    });

    it('says of a folder that this user may not read what to do, and not the code of the error', async () => {
      const folder = await fleet();
      await chmod(join(folder, 'apps'), 0o000);
      await chmod(folder, 0o755);
      const { code, err } = await asNobody(() => runCli([command, folder]));
      expect([code, err]).toEqual([
        3,
        `holdfast: ${folder}/apps may not be read by this user; change its permissions, or run this as another user\n`,
      ]);
    });
  });

  it('suggests the app that a group probably means', async () => {
    const folder = await fleet({ ...FLEET, 'device-groups/edge.yaml': 'apps: [wbe, chron, unheard-of]\n' });
    const { code, out } = await runCli(['validate', folder]);
    expect(code).toBe(1);
    expect(out).toContain('edge.yaml:1:8: error: there is no app "wbe"; did you mean "web"? [app-unknown]\n');
    expect(out).toContain('there is no app "chron"; did you mean "cron"? [app-unknown]\n');
    expect(out).toContain('there is no app "unheard-of"; add apps/unheard-of.yaml, or remove');
  });

  it.each(['validate', 'plan'])('%s refuses a missing folder as wrong usage', async (command) => {
    const { code, err } = await runCli([command, join(await fleet(), 'none')]);
    expect([code, err]).toEqual([2, expect.stringContaining('is not a folder')]);
  });

  it.each(['validate', 'plan'])('%s fails for a folder that cannot be read', async (command) => {
    const folder = join(await fleet({}), 'loop');
    await symlink('loop', folder);
    const { code, err } = await runCli([command, folder]);
    expect([code, err]).toEqual([
      3,
      expect.stringMatching(/^holdfast: \S+ is a symbolic link that leads to itself\n/),
    ]);
  });

  it('plan --against refuses a folder outside of a repository as wrong usage', async () => {
    const folder = await fleet();
    const { code, err } = await runCli(['plan', folder, '--against', 'main']);
    const message = `${folder} is not in a git repository, so there is no "main"`;
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });

  it('validates the folder of DESIRED_STATE if no other is given', async () => {
    const folder = await fleet({ 'apps/web.yaml': 'container_image: web:1\n' });
    const { code, out } = await runCli(['validate'], { env: { DESIRED_STATE: folder } });
    expect([code, out]).toEqual([0, `${folder}: 1 app and 0 device groups, 0 problems\n`]);
  });

  it('warns of a file that is not read, without counting it as a problem', async () => {
    const folder = await fleet({ ...FLEET, 'notes.txt': 'x' });
    const { code, out } = await runCli(['validate', folder]);
    expect(code).toBe(0);
    expect(out).toMatch(/notes\.txt:1:1: warning: is not read: .* \[file-unexpected\]\n/);
    expect(out).toMatch(/, 0 problems, 1 warning\n$/);
  });

  it.each(['validate', 'plan'])(
    '%s warns of a port that two apps take, and of variables',
    async (command) => {
      const folder = await fleet({
        'apps/a.yaml': 'container_image: a\nstarting_ports: [80]\n',
        'apps/b.yaml': 'container_image: b\nstarting_ports: [80]\nenv_vars:\n  HOST: ${NAME}\n',
        'device-groups/edge.yaml': 'apps: [a, b]\n',
      });
      const { code, out } = await runCli([command, folder]);
      expect(code).toBe(0);
      expect(out.split('\n')).toEqual(
        expect.arrayContaining([
          expect.stringMatching(
            /apps\/b\.yaml:4:3: warning: env_vars\.HOST contains .* \[variable-literal\]$/,
          ),
          expect.stringMatching(/edge\.yaml:1:11: warning: app "b" takes port 80 .* \[port-conflict\]$/),
        ]),
      );
      expect(out).toMatch(/ 0 problems, 2 warnings\.?\n$/);
    },
  );

  it('warns of an app that takes one port or one target twice, at its place', async () => {
    const folder = await fleet({
      'apps/a.yaml':
        'container_image: a\nstarting_ports:\n  - 80\n  - "80": "81"\nvolumes: ["a:/x", "b:/x"]\n',
    });
    const { code, out } = await runCli(['validate', folder]);
    expect(code).toBe(0);
    expect(out).toMatch(/a\.yaml:4:5: warning: starting_ports\[1\] takes port 80 .* \[port-conflict\]\n/);
    expect(out).toMatch(/a\.yaml:5:19: warning: volumes\[1\] has the same target .* \[mount-conflict\]\n/);
    expect(out).toMatch(/, 0 problems, 2 warnings\n$/);
  });

  it('reports every problem with its position, with paths relative to the working directory', async () => {
    const folder = await fleet({
      ...FLEET,
      'apps/web.yaml': 'container_image: web:1\nprivileged: "no"\n',
      'apps/old.yaml': 'docker_image: old:1\n',
      'device-groups/lab.yaml': 'apps:\n  - web\n  - unknown\n  - old\n',
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
      'device-groups/lab.yaml:3:5: error: there is no app "unknown"; add apps/unknown.yaml, or remove the name from this list [app-unknown]',
      expect.stringContaining('device-groups/x/edge.yaml:1:1: error: duplicate name "edge", also used by'),
      ': 3 apps and 2 device groups, 6 problems',
      '',
    ]);
  });

  it('reports links, repositories and too large files without reading them', async () => {
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
});
