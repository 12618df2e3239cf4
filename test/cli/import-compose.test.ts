import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CommandResult, runCli } from '../support/command.ts';
import { temporaryFolder, writeFiles } from '../support/folder.ts';
import { PROJECT } from '../support/project.ts';

const GOLDEN = 'test/golden/compose';

/** Runs `import --from-compose` with a home folder, and no other variables. */
function importCompose(file: string, folder: string, ...more: string[]): Promise<CommandResult> {
  return runCli(['import', '--from-compose', file, folder, ...more], { env: { HOME: '/home/ops' } });
}

/** The paths of all files below a folder. */
async function pathsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort();
}

/** A folder with these files and an empty one for a desired state. */
async function project(files: Record<string, string>): Promise<{ compose: string; folder: string }> {
  const base = await temporaryFolder();
  await writeFiles(base, files);
  return { compose: join(base, 'compose.yaml'), folder: join(base, 'desired-state') };
}

const WEB = 'services:\n  web:\n    image: nginx:1.27\n    restart: always\n';

describe('import of a Compose file', async () => {
  const names = await readdir(join(PROJECT, GOLDEN));

  it.each(names)('writes the files of %s, which validate', async (name) => {
    const [file = ''] = (await readdir(join(PROJECT, GOLDEN, name))).filter((each) => /\.ya?ml$/.test(each));
    const folder = await temporaryFolder();
    const { code, out } = await importCompose(join(PROJECT, GOLDEN, name, file), folder);
    expect(code, out).toBe(0);
    const checked = await runCli(['validate', folder]);
    expect(checked.code, checked.out).toBe(0);
  });

  it('writes the apps and a group of the name of the project, and says what comes next', async () => {
    const { compose, folder } = await project({ 'compose.yaml': `name: shop\n${WEB}` });
    const { code, out } = await importCompose(compose, folder);
    expect(code).toBe(0);
    expect(await pathsIn(folder)).toEqual(['apps/web.yaml', 'device-groups/shop.yaml']);
    expect(await readFile(join(folder, 'apps/web.yaml'), 'utf8')).toBe('container_image: nginx:1.27\n');
    expect(await readFile(join(folder, 'device-groups/shop.yaml'), 'utf8')).toBe('apps:\n  - web\n');
    expect(out).toContain(`1 app and 1 device group of ${compose} written, 0 left out, 0 to check`);
    expect(out).toContain(`holdfast plan ${folder}`);
    expect(out).toContain('DEVICE_GROUP=shop');
  });

  it.each<[string, Record<string, string>, string[], Record<string, string>, string]>([
    ['--group', {}, ['--group', 'stores'], {}, 'stores'],
    [
      'COMPOSE_PROJECT_NAME of the environment',
      { '.env': 'COMPOSE_PROJECT_NAME=b' },
      [],
      { COMPOSE_PROJECT_NAME: 'a' },
      'a',
    ],
    ['COMPOSE_PROJECT_NAME of .env', { '.env': 'COMPOSE_PROJECT_NAME=b' }, [], {}, 'b'],
  ])('names the group after %s', async (_, files, more, env, group) => {
    const { compose, folder } = await project({ 'compose.yaml': WEB, ...files });
    const { code } = await runCli(['import', '--from-compose', compose, folder, ...more], { env });
    expect(code).toBe(0);
    expect(await pathsIn(folder)).toContain(`device-groups/${group}.yaml`);
  });

  it('names the group after the folder of the file, in the letters that Compose allows', async () => {
    const { compose, folder } = await project({ 'My Shop.v2/compose.yaml': WEB });
    await importCompose(compose.replace('compose.yaml', 'My Shop.v2/compose.yaml'), folder);
    expect(await pathsIn(folder)).toContain('device-groups/myshopv2.yaml');
  });

  it('prints the files with --dry-run, and writes nothing', async () => {
    const { compose, folder } = await project({ 'compose.yaml': `name: shop\n${WEB}` });
    const { code, out } = await importCompose(compose, folder, '--dry-run');
    expect(code).toBe(0);
    expect(out).toContain(`# ${folder}/apps/web.yaml\ncontainer_image: nginx:1.27\n`);
    expect(out).toContain('would be written');
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  it('prints with --format json the files, the problems with their places, and the variables without their values', async () => {
    const { compose, folder } = await project({
      'compose.yaml': `name: shop\n${WEB}    build: .\n    environment: {PASSWORD: $SECRET}\n`,
      '.env': 'SECRET=hunter2\n',
    });
    const { code, out } = await importCompose(compose, folder, '--format', 'json');
    expect(code).toBe(0);
    const { files, ...rest } = JSON.parse(out);
    expect(rest).toMatchObject({
      problems: [{ file: compose, line: 6, column: 5, severity: 'warning', code: 'left-out' }],
      group: 'shop',
      written: true,
      variables: [{ name: 'SECRET', origin: '.env:1' }],
    });
    expect(files.map(({ path }: { path: string }) => path)).toEqual([
      `${folder}/apps/web.yaml`,
      `${folder}/device-groups/shop.yaml`,
    ]);
    expect(JSON.stringify(rest)).not.toContain('hunter2');
  });

  it('prints with --format github an annotation for each problem', async () => {
    const { compose, folder } = await project({ 'compose.yaml': `name: shop\n${WEB}    build: .\n` });
    const { out } = await importCompose(compose, folder, '--format', 'github');
    expect(out).toMatch(/^::warning file=.*compose\.yaml,line=6,col=5,title=left-out::web\.build is not run/);
  });

  it('takes a folder .env, as Python has, for none', async () => {
    const { compose, folder } = await project({ 'compose.yaml': WEB, '.env/bin/python': '' });
    expect((await importCompose(compose, folder)).code).toBe(0);
  });

  it('names an override file beside it, which Compose would merge', async () => {
    const { compose, folder } = await project({ 'compose.yaml': WEB, 'compose.override.yaml': WEB });
    const { code, out } = await importCompose(compose, folder);
    expect(code).toBe(0);
    expect(out).toContain('compose.override.yaml is not read');
  });
});

describe('import of a Compose file changes nothing', () => {
  it.each<[string, Record<string, string>, RegExp]>([
    [
      'an app exists',
      { 'apps/shop/web.yaml': 'container_image: old:1\n' },
      /:3:3: error: web exists already as .*apps\/shop\/web\.yaml; give the service another name/,
    ],
    ['an invalid app exists', { 'apps/web.yml': 'image: [\n' }, /web exists already as/],
    [
      'the group exists',
      { 'device-groups/shop.yaml': 'apps: []\n' },
      /shop exists already as .*; choose another name with --group NAME/,
    ],
  ])('if %s', async (_, present, message) => {
    const { compose, folder } = await project({
      'compose.yaml': `name: shop\n${WEB}  db: {image: "postgres:17"}\n`,
    });
    await mkdir(folder);
    await writeFiles(folder, present);
    const { code, out } = await importCompose(compose, folder);
    expect(code).toBe(1);
    expect(out).toMatch(message);
    expect(out).toContain(`${folder}: nothing was written; correct the error and import again`);
    expect(await pathsIn(folder)).toEqual(Object.keys(present));
  });

  it('if a variable without a value makes a bad image, and names that variable with the error', async () => {
    const { compose, folder } = await project({ 'compose.yaml': 'services: {web: {image: "nginx:$TAG"}}\n' });
    const { code, out } = await importCompose(compose, folder);
    expect(code).toBe(1);
    expect(out).toContain('container_image must be');
    expect(out).toMatch(/Variables that are set nowhere\n {2}\$TAG is set nowhere, so it is empty/);
  });

  it('if the name of the group cannot be one', async () => {
    const { compose, folder } = await project({ 'compose.yaml': WEB });
    const { code, out } = await importCompose(compose, folder, '--group', 'a/b');
    expect(code).toBe(1);
    expect(out).toContain('group has no valid name');
    expect(out).toContain('name it with --group NAME');
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  it('if a link has the path of a later file', async () => {
    const { compose, folder } = await project({
      'compose.yaml': `name: shop\n${WEB}  db: {image: "postgres:17"}\n`,
    });
    await mkdir(join(folder, 'apps'), { recursive: true });
    await symlink('nowhere', join(folder, 'apps/db.yaml'));
    const { code, out } = await importCompose(compose, folder);
    expect(code).toBe(1);
    expect(out).toContain('db exists already');
    expect(await pathsIn(folder)).toEqual(['apps/db.yaml']);
  });

  it('if a second import has the same names', async () => {
    const { compose, folder } = await project({ 'compose.yaml': WEB });
    expect((await importCompose(compose, folder)).code).toBe(0);
    await writeFile(join(folder, 'apps/web.yaml'), 'container_image: edited:1\n');
    expect((await importCompose(compose, folder)).code).toBe(1);
    expect(await readFile(join(folder, 'apps/web.yaml'), 'utf8')).toBe('container_image: edited:1\n');
  });
});

describe('import refuses', () => {
  it.each<[string, string[], RegExp]>([
    [
      'a Compose file that does not exist',
      ['--from-compose', 'no/compose.yaml'],
      /no\/compose\.yaml cannot be read: ENOENT/,
    ],
    ['--from and --from-compose together', ['--from', 'http://one', '--from-compose', 'a'], /not both/],
    [
      '--group without --from-compose',
      ['--from', 'http://one', '--group', 'a'],
      /--group and --dry-run belong to/,
    ],
    ['--dry-run without --from-compose', ['--dry-run'], /--group and --dry-run belong to/],
    ['a file of another encoding', ['--from-compose', 'dist/../test/golden'], /cannot be read/],
  ])('%s', async (_, args, message) => {
    const { code, err } = await runCli(['import', ...args]);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });
});
