import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CommandResult, runCli } from '../support/command.ts';
import { recordedCompose, refusingCompose } from '../support/compose-program.ts';
import { temporaryFolder, writeFiles } from '../support/folder.ts';
import { PROJECT } from '../support/project.ts';

const GOLDEN = join(PROJECT, 'test/golden/compose');
const NO_PROGRAMS = '/nowhere';

/** Runs `import --from-compose` with a home folder, and only the programs of a folder. */
function importCompose(
  file: string,
  folder: string,
  more: string[] = [],
  programs = NO_PROGRAMS,
): Promise<CommandResult> {
  return runCli(['import', '--from-compose', file, folder, ...more], {
    env: { HOME: '/home/ops', PATH: programs === NO_PROGRAMS ? programs : `${programs}:/bin` },
  });
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

const WEB = 'name: shop\nservices:\n  web:\n    image: nginx:1.27\n    restart: always\n';

describe('import of a Compose file', async () => {
  const names = (await readdir(GOLDEN, { withFileTypes: true })).flatMap((entry) =>
    entry.isDirectory() ? entry.name : [],
  );

  it.each(names)('writes the files of %s, which validate', async (name) => {
    const recorded = (await readdir(join(GOLDEN, name))).find((file) => file.startsWith('resolved.')) ?? '';
    const folder = await temporaryFolder();
    const { code, out } = await importCompose(join(GOLDEN, name, recorded), folder);
    expect(code, out).toBe(0);
    const checked = await runCli(['validate', folder]);
    expect(checked.code, checked.out).toBe(0);
  });

  it('lets Docker Compose read it, and names the variables that came from outside', async () => {
    const { compose, folder } = await project({ 'compose.yaml': 'services: {web: {image: "nginx:$TAG"}}\n' });
    const programs = await recordedCompose(join(GOLDEN, 'small'), 'The "TAG" variable is not set.\n');
    const { code, out, err } = await importCompose(compose, folder, [], programs);
    expect(code).toBe(0);
    expect(await pathsIn(folder)).toEqual(['apps/db.yaml', 'apps/web.yaml', 'device-groups/shop.yaml']);
    expect(out).toMatch(/plain text, for anyone who can read the repository\n {2}DB_PASSWORD {2}db, web\n/);
    expect(out).not.toContain('s3cret');
    expect(err).toContain('The "TAG" variable is not set.');
  });

  it('says what Docker Compose has against it', async () => {
    const { compose, folder } = await project({ 'compose.yaml': 'services: {web: {imag: a}}\n' });
    const programs = await refusingCompose('services.web additional properties imag not allowed');
    const { code, err } = await importCompose(compose, folder, [], programs);
    expect(code).toBe(2);
    expect(err).toContain(
      `Docker Compose does not accept ${compose}: services.web additional properties imag`,
    );
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  it('reads what Compose has resolved, without Compose, and writes the apps and a group of the name of the project', async () => {
    const { compose, folder } = await project({ 'compose.yaml': WEB });
    const { code, out } = await importCompose(compose, folder);
    expect(code, out).toBe(0);
    expect(await pathsIn(folder)).toEqual(['apps/web.yaml', 'device-groups/shop.yaml']);
    expect(await readFile(join(folder, 'apps/web.yaml'), 'utf8')).toBe('container_image: nginx:1.27\n');
    expect(await readFile(join(folder, 'device-groups/shop.yaml'), 'utf8')).toBe('apps:\n  - web\n');
    expect(out).toContain(`1 app and 1 device group of ${compose} written, 0 left out, 0 to check`);
    expect(out).toContain('only an import by Docker Compose itself can name it');
    expect(out).toContain(`holdfast plan ${folder}`);
    expect(out).toContain('DEVICE_GROUP=shop');
  });

  it('says which command resolves any other file, where there is no Compose', async () => {
    const { compose, folder } = await project({ 'compose.yaml': 'services: {web: {image: "nginx:$TAG"}}\n' });
    const { code, err } = await importCompose(compose, folder);
    expect(code).toBe(2);
    expect(err).toContain(
      `run "docker compose -f ${compose} config > resolved.yaml", and import resolved.yaml`,
    );
  });

  it('names the group after --group', async () => {
    const { compose, folder } = await project({ 'compose.yaml': WEB });
    expect((await importCompose(compose, folder, ['--group', 'stores'])).code).toBe(0);
    expect(await pathsIn(folder)).toContain('device-groups/stores.yaml');
  });

  it('prints the files with --dry-run, and writes nothing', async () => {
    const { compose, folder } = await project({ 'compose.yaml': WEB });
    const { code, out } = await importCompose(compose, folder, ['--dry-run']);
    expect(code).toBe(0);
    expect(out).toContain(`# ${folder}/apps/web.yaml\ncontainer_image: nginx:1.27\n`);
    expect(out).toContain('would be written');
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  it('prints with --format json the files, the problems, and the variables without their values', async () => {
    const { compose, folder } = await project({ 'compose.yaml': '' });
    const programs = await recordedCompose(join(GOLDEN, 'small'));
    const { code, out } = await importCompose(compose, folder, ['--format', 'json'], programs);
    expect(code).toBe(0);
    const { files, ...rest } = JSON.parse(out);
    expect(rest).toMatchObject({
      problems: [{ file: compose, severity: 'warning', code: 'left-out' }],
      group: 'shop',
      written: true,
      variables: [{ name: 'DB_PASSWORD', services: ['db', 'web'] }],
    });
    expect(files).toHaveLength(3);
    expect(JSON.stringify(rest)).not.toContain('s3cret');
  });

  it('prints with --format github an annotation for each problem', async () => {
    const { compose, folder } = await project({ 'compose.yaml': `${WEB}    build: {context: /a}\n` });
    const { out } = await importCompose(compose, folder, ['--format', 'github']);
    expect(out).toMatch(/^::warning file=.*compose\.yaml,line=1,col=1,title=left-out::web\.build is not run/);
  });
});

describe('import of a Compose file changes nothing', () => {
  it.each<[string, Record<string, string>, RegExp]>([
    [
      'an app exists',
      { 'apps/shop/web.yaml': 'container_image: old:1\n' },
      /: error: web exists already as .*apps\/shop\/web\.yaml; give the service another name/,
    ],
    ['an invalid app exists', { 'apps/web.yml': 'image: [\n' }, /web exists already as/],
    [
      'the group exists',
      { 'device-groups/shop.yaml': 'apps: []\n' },
      /shop exists already as .*; choose another name with --group NAME/,
    ],
  ])('if %s', async (_, present, message) => {
    const { compose, folder } = await project({
      'compose.yaml': `${WEB}  db: {image: "postgres:17"}\n`,
    });
    await mkdir(folder);
    await writeFiles(folder, present);
    const { code, out } = await importCompose(compose, folder);
    expect(code).toBe(1);
    expect(out).toMatch(message);
    expect(out).toContain(`${folder}: nothing was written; correct the error and import again`);
    expect(await pathsIn(folder)).toEqual(Object.keys(present));
  });

  it('if the name of the group cannot be one', async () => {
    const { compose, folder } = await project({ 'compose.yaml': WEB });
    const { code, out } = await importCompose(compose, folder, ['--group', 'a/b']);
    expect(code).toBe(1);
    expect(out).toContain('group has no valid name');
    expect(out).toContain('name it with --group NAME');
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  it('if a link has the path of a later file', async () => {
    const { compose, folder } = await project({
      'compose.yaml': `${WEB}  db: {image: "postgres:17"}\n`,
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
    ['a folder', ['--from-compose', 'test/golden'], /cannot be read/],
  ])('%s', async (_, args, message) => {
    const { code, err } = await runCli(['import', ...args]);
    expect(code).toBe(2);
    expect(err).toMatch(message);
  });
});
