import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CommandResult, runCli } from '../support/command.ts';
import { temporaryFolder, writeFiles } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import { PASSWORD, startManager, USER } from '../support/manager.ts';

const ENV = { BASIC_AUTH_USER: USER, BASIC_AUTH_PASSWORD: PASSWORD };

/** Runs `import` with the credentials of the tests' administrator. */
function runImport(from: string, folder: string, ...more: string[]): Promise<CommandResult> {
  return runCli(['import', '--from', from, folder, ...more], { env: ENV });
}

/** The text of every file below a folder, by path. */
async function filesOf(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const texts = files
    .sort()
    .map(async (file) => [file.slice(folder.length + 1), await readFile(file, 'utf8')]);
  return Object.fromEntries(await Promise.all(texts));
}

/** Records as the public manager of Nebula sends them: with its own field names, and with fields of its database. */
const RECORDS: Record<string, object> = {
  apps: { apps: ['web', 'plain'] },
  'apps/web': {
    _id: { $oid: '5c2c767959be4c000ed3653f' },
    app_id: 319,
    app_name: 'web',
    starting_ports: [{ '80': 8080, '443': '8443' }, 8888],
    containers_per: { cpu: 0.5 },
    env_vars: { PORT: 80, DEBUG: true, NAME: 'x: y' },
    docker_image: 'nginx:alpine',
    running: false,
    networks: ['nebula'],
    volumes: ['/var/tmp/:/var/tmp/1:ro'],
    devices: ['/dev/snd', '/dev/a:/dev/b:r'],
    privileged: true,
    rolling_restart: true,
    docker_ulimits: [],
  },
  'apps/plain': {
    _id: { $oid: '5c2c767659be4c000ed3653e' },
    app_id: 6,
    app_name: 'plain',
    starting_ports: [],
    containers_per: { server: 1 },
    env_vars: [],
    docker_image: 'registry.example:5000/plain',
    running: true,
    networks: ['nebula', 'bridge'],
    volumes: [],
    devices: [],
    privileged: false,
  },
  device_groups: { device_groups: ['edge'] },
  'device_groups/edge': {
    _id: { $oid: '5c2cc6849d723e6c88ba466e' },
    device_group: 'edge',
    device_group_id: 116,
    prune_id: 544,
    apps: ['web', 'plain', 'web'],
    cron_jobs: [],
  },
};

const WEB = `container_image: nginx:alpine
starting_ports:
  - "80": "8080"
  - "443": "8443"
  - 8888
containers_per:
  cpu: 0.5
env_vars:
  PORT: "80"
  DEBUG: "True"
  NAME: "x: y"
running: false
volumes:
  - /var/tmp/:/var/tmp/1:ro
networks:
  - nebula
devices:
  - /dev/snd:/dev/snd
  - /dev/a:/dev/b:r
privileged: true
rolling_restart: true
`;

const FILES = {
  'apps/plain.yaml': 'container_image: registry.example:5000/plain\n',
  'apps/web.yaml': WEB,
  'device-groups/edge.yaml': 'apps:\n  - web\n  - plain\n',
};

interface Reply {
  status?: number;
  headers?: Record<string, string>;
  text?: string;
}

/** Starts a server that replies with the record of each path, unless `replyTo` returns another reply; resolves to its address. */
async function serveRecords(
  records: Record<string, object>,
  replyTo: (path: string, request: IncomingMessage) => Reply | undefined = () => undefined,
): Promise<string> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '').replace('/api/v2/', ''));
    const record = records[path];
    const usual: Reply = record === undefined ? { status: 403, text: '{"app_exists": false}' } : {};
    const { status = 200, headers = {}, text = JSON.stringify(record) } = replyTo(path, request) ?? usual;
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
  });
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const oneApp = (name: string, fields: object): Record<string, object> => ({
  apps: { apps: [name] },
  [`apps/${name}`]: { app_name: name, app_id: 1, docker_image: 'a:1', ...fields },
  device_groups: { device_groups: [] },
});

it('import shows on a terminal how much it has read, even if the other manager fails later', async () => {
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
  const apps = names.map((name) => [`apps/${name}`, { app_name: name, docker_image: 'a:1' }] as const);
  const records = {
    apps: { apps: names },
    ...Object.fromEntries(apps),
    device_groups: { device_groups: ['x'] },
  };
  const from = await serveRecords(records);
  const args = ['import', '--from', from, await temporaryFolder()];
  const { code, err } = await runCli(args, { env: ENV, isTerminal: true });
  expect(code).toBe(2);
  const [, ...lines] = err.split('\r\u001b[K');
  expect(lines).toEqual([
    'read: 8 of 10 apps',
    'read: 10 of 10 apps',
    expect.stringMatching(/^holdfast: .*403.*\n$/),
  ]);
  expect((await runCli(args, { env: ENV })).err).not.toContain('read:');
});

describe('import from another Holdfast', () => {
  const fleet = {
    'apps/shop/web.yaml': '# shop\nrunning: false\ncontainer_image: "web:1"\nvolumes: []\n',
    'apps/cron.yml': 'container_image: cron:1\nenv_vars: {A: "1"}\n',
    'device-groups/edge.yaml': 'apps: [web, cron]\n',
    'device-groups/none.yaml': 'apps: []\n',
  };

  it('writes the files that writes through its API would make', async () => {
    const manager = await startManager({ files: fleet });
    const folder = join(await temporaryFolder(), 'fleet/desired-state');
    const { code, out, err } = await runImport(`${manager.service.address}/`, folder);
    expect([code, err]).toEqual([0, '']);
    expect(await filesOf(folder)).toEqual({
      'apps/cron.yaml': 'container_image: cron:1\nenv_vars:\n  A: "1"\n',
      'apps/web.yaml': 'container_image: web:1\nrunning: false\n',
      'device-groups/edge.yaml': 'apps:\n  - web\n  - cron\n',
      'device-groups/none.yaml': 'apps: []\n',
    });
    expect(out).toContain('2 apps and 2 device groups: 4 written');
    expect(out).toContain(`holdfast validate ${folder}\n`);
    expect((await runCli(['validate', folder])).code).toBe(0);
  });

  it('keeps files that already have the same content, and writes missing ones', async () => {
    const manager = await startManager({ files: fleet });
    const { 'apps/cron.yml': _, ...existing } = fleet;
    const folder = await temporaryFolder();
    await writeFiles(folder, existing);
    const { code, out } = await runImport(manager.service.address, folder);
    expect([code, out]).toEqual([0, expect.stringContaining(': 1 written, 3 unchanged')]);
    expect(await filesOf(folder)).toMatchObject(existing);
    expect(Object.keys(await filesOf(folder))).toHaveLength(4);
  });

  it('does not overwrite a file with other content, and reports how it differs', async () => {
    const manager = await startManager({ files: fleet });
    const folder = await temporaryFolder();
    const mine = {
      'apps/mine/web.yaml': 'container_image: web:2\n',
      'apps/cron.yaml': 'container_image: [\n',
      'device-groups/edge.yaml': 'apps: [web]\n',
    };
    await writeFiles(folder, mine);
    const { code, out } = await runImport(manager.service.address, folder);
    expect(code).toBe(1);
    expect(out).toMatch(/mine\/web\.yaml:1:1: error: .*container_image, running.*\[name-duplicate\]/);
    expect(out).toMatch(/apps\/cron\.yaml:1:1: error: /);
    expect(out).toMatch(/edge\.yaml:1:1: error: .*apps/);
    expect(out).toContain(': 1 written, 3 not written');
    expect(await filesOf(folder)).toEqual({ ...mine, 'device-groups/none.yaml': 'apps: []\n' });
  });

  it('leads to ids above those of the other manager at the first start on the committed files', async () => {
    const old = await startManager();
    for (const name of ['web', 'cron']) await old.post(`/api/v2/apps/${name}`, { container_image: name });
    await old.post('/api/v2/device_groups/edge', { apps: ['web', 'cron'] });
    await old.post('/api/v2/apps/cron/restart');
    const before = (await old.get('/api/v2/device_groups/edge/info')).body;
    const repository = await testRepository();
    await runImport(old.service.address, join(repository.folder, 'desired-state'));
    await repository.commit({});
    const now = await startManager({ repository });
    const after = (await now.get('/api/v2/device_groups/edge/info')).body;
    const bare = ({ app_id, _id, ...fields }: Record<string, unknown>): object => fields;
    expect(after.apps.map(bare)).toEqual(before.apps.map(bare));
    for (const [index, { app_id }] of after.apps.entries())
      expect(app_id).toBeGreaterThan(before.apps[index].app_id);
    expect(after.device_group_id).toBeGreaterThan(before.device_group_id);
  });
});

describe('import from the public manager of Nebula', () => {
  it('translates its field names, and ports and values that it stores as they were sent', async () => {
    const folder = await temporaryFolder();
    const { code, out, err } = await runImport(await serveRecords(RECORDS), folder);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain('2 apps and 1 device group: 3 written\n');
    expect(await filesOf(folder)).toEqual(FILES);
    expect((await runCli(['validate', folder])).code).toBe(0);
  });

  it('leaves out the networks of an app if they are those of DEFAULT_NETWORKS', async () => {
    const folder = await temporaryFolder();
    const env = { ...ENV, DEFAULT_NETWORKS: 'nebula' };
    const from = await serveRecords(RECORDS);
    expect((await runCli(['import', '--from', from, folder], { env })).code).toBe(0);
    const files = await filesOf(folder);
    expect(files['apps/plain.yaml']).toMatch(/networks:\n {2}- nebula\n {2}- bridge\n$/);
    expect(files['apps/web.yaml']).not.toContain('networks');
  });

  it('sends the credentials with each request, or none if none are set', async () => {
    const seen = new Set<string | undefined>();
    const from = await serveRecords(RECORDS, (_, request) => {
      seen.add(request.headers.authorization);
      return undefined;
    });
    await runImport(from, await temporaryFolder());
    expect([...seen]).toEqual([`Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`]);
    await runCli(['import', '--from', from, await temporaryFolder()]);
    expect([...seen][1]).toBeUndefined();
  });

  it.each([
    [
      'warns of an unknown field, and leaves it out',
      { gpus: 2 },
      /warning: gpus .*left out of the file \[field-unknown\]/,
      true,
    ],
    [
      'leaves out empty unknown fields without a warning',
      { gpus: null, limits: {}, note: '' },
      /^(?!.*(error|warning))/s,
      true,
    ],
    ['refuses a number in quotes', { containers_per: { server: '2' } }, /error: .*server must be/, false],
    [
      'refuses a variable that is null',
      { env_vars: { A: null } },
      /error: env_vars\.A must be a string/,
      false,
    ],
    [
      'refuses a variable without an exact text',
      { env_vars: { A: 1.5 } },
      /error: env_vars\.A must be a string/,
      false,
    ],
    [
      'refuses an app whose file would be too large to be read',
      { env_vars: Object.fromEntries([...'abcde'].map((key) => [key, 'x'.repeat(60_000)])) },
      /error: has \d+ bytes; at most .*\[file-too-large\]/,
      false,
    ],
    ['refuses a list of variables', { env_vars: ['A=1'] }, /error: env_vars must be a map/, false],
    [
      'refuses an app without an image',
      { docker_image: undefined },
      /error: container_image is required/,
      false,
    ],
    ['refuses a lone surrogate', { docker_image: 'a\ud800' }, /error: container_image must be/, false],
    [
      'refuses a forbidden variable',
      JSON.parse('{"env_vars":{"__proto__":"x"}}'),
      /error: .*__proto__/,
      false,
    ],
  ])('%s', async (_, fields, message, isWritten) => {
    const folder = await temporaryFolder();
    const { code, out } = await runImport(await serveRecords(oneApp('web', fields)), folder);
    expect(out).toMatch(message);
    expect(code).toBe(/error|warning/.test(out) ? 1 : 0);
    expect(Object.keys(await filesOf(folder))).toEqual(isWritten ? ['apps/web.yaml'] : []);
  });

  it.each(['a b', '../x', '', '.', 'ö', 'a/b', 'x\n::error::y', 'a'.repeat(200)])(
    'writes no file for an app with the name %j, not even outside of the folder, but keeps it in its group',
    async (name) => {
      const folder = join(await temporaryFolder(), 'in/desired-state');
      const records = {
        ...oneApp(name, {}),
        device_groups: { device_groups: ['edge'] },
        'device_groups/edge': { apps: [name] },
      };
      const { code, out } = await runImport(await serveRecords(records), folder);
      expect(code).toBe(1);
      expect(out).toMatch(/in\/desired-state\/apps:1:1: error: .*a name starts with .*\[name-invalid\]/);
      expect(Object.keys(await filesOf(join(folder, '../..')))).toEqual([
        'in/desired-state/device-groups/edge.yaml',
      ]);
      expect((await runCli(['validate', folder])).out).toContain('app-unknown');
    },
  );

  it('removes unknown apps and cron jobs from a group, with warnings', async () => {
    const folder = await temporaryFolder();
    const group = { apps: ['web', 'ghost'], cron_jobs: ['nightly'] };
    const from = await serveRecords({ ...RECORDS, 'device_groups/edge': group });
    const { code, out } = await runImport(from, folder);
    expect(code).toBe(1);
    expect(out).toMatch(/edge\.yaml:1:1: warning: cron_jobs .*left out of the file \[field-unknown\]/);
    expect(out).toMatch(/edge\.yaml:1:1: warning: .*"ghost".*left out of the file \[app-unknown\]/);
    expect(out).toContain(': 3 written\n');
    expect((await filesOf(folder))['device-groups/edge.yaml']).toBe('apps:\n  - web\n');
  });

  it.each([
    ['apps/web.yaml', 'env_vars', 'apps/web', '"docker_image":"a:1",'],
    ['device-groups/edge.yaml', 'apps', 'device_groups/edge', ''],
  ])('writes all but %s if its %s are nested 20,000 levels deep', async (file, field, path, record) => {
    const folder = await temporaryFolder();
    const deep = `${'[{"a":'.repeat(10_000)}1${'}]'.repeat(10_000)}`;
    const text = `{${record}"${field}":${deep}}`;
    const from = await serveRecords(RECORDS, (url) =>
      url.endsWith(path) ? { status: 200, text } : undefined,
    );
    const { code, out } = await runImport(from, folder);
    expect(code).toBe(1);
    expect(out).toContain(
      `${file}:1:1: error: ${field} is nested too deeply; at most 32 levels are read [yaml-depth]`,
    );
    expect(out).toContain(': 2 written, 1 not written\n');
    expect(Object.keys(await filesOf(folder))).not.toContain(file);
  });

  it('reports problems as JSON with --format json', async () => {
    const folder = await temporaryFolder();
    const from = await serveRecords(oneApp('web', { gpus: 2 }));
    const { code, out } = await runImport(from, folder, '--format', 'json');
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      problems: [{ file: join(folder, 'apps/web.yaml'), severity: 'warning', code: 'field-unknown' }],
      steps: [],
    });
  });
});

describe('import writes nothing if it could not read everything', () => {
  const html = { status: 200, text: '<html>', headers: { 'content-type': 'text/html' } };
  it.each<[string, (path: string) => Reply | undefined, number, RegExp]>([
    ['wrong credentials', () => ({ status: 401, text: '{}' }), 2, /401.*BASIC_AUTH_USER/],
    ['another server', () => html, 2, /manager/],
    ['another path', () => ({ status: 404, text: '{}' }), 2, /404/],
    ['a redirect', () => ({ status: 301, headers: { location: 'http://127.0.0.1:1/' } }), 2, /301/],
    ['JSON of another shape', (path) => (path === 'apps' ? { text: '{"apps": {}}' } : undefined), 2, /apps/],
    [
      'a list instead of a record',
      (path) => (path === 'apps/web' ? { text: '[]' } : undefined),
      2,
      /apps\/web/,
    ],
    [
      'a failure during the import',
      (path) => (path === 'apps/plain' ? { status: 500 } : undefined),
      3,
      /plain.* 500/,
    ],
    [
      'an app that was deleted meanwhile',
      (path) => (path === 'apps/web' ? { status: 403 } : undefined),
      2,
      /web.* 403.* deleted/,
    ],
    [
      'a failure at the last record',
      (p) => (p === 'device_groups/edge' ? { status: 503 } : undefined),
      3,
      /503/,
    ],
  ])('because of %s', async (_, replyTo, exit, message) => {
    const folder = join(await temporaryFolder(), 'desired-state');
    const { code, out, err } = await runImport(await serveRecords(RECORDS, replyTo), folder);
    expect([code, out]).toEqual([exit, '']);
    expect(err).toMatch(message);
    expect(err).not.toContain(PASSWORD);
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  it('because the connection broke in the middle of a reply', async () => {
    const from = await serveRecords(RECORDS, (path, { socket }) => {
      if (path !== 'apps/plain') return undefined;
      setTimeout(() => socket.destroy(), 50);
      return { headers: { 'content-length': '1000' }, text: '{"app_name": ' };
    });
    const folder = join(await temporaryFolder(), 'desired-state');
    const { code, err } = await runImport(from, folder);
    expect([code, err]).toEqual([3, expect.stringMatching(/cannot be reached: .*; nothing was written/)]);
    await expect(readdir(folder)).rejects.toThrow('ENOENT');
  });

  it('because of a redirect, whose credentials and control characters are not shown', async () => {
    const location = 'https://ann:hunter2@other.example/\u009b2J';
    const from = await serveRecords(RECORDS, () => ({ status: 301, headers: { location } }));
    const folder = await temporaryFolder();
    const { err } = await runImport(from, folder);
    expect(err).toContain('redirects to https://other.example/');
    expect(err).not.toMatch(/hunter2|\u009b/);
    expect(await filesOf(folder)).toEqual({});
  });

  it('because there is no server', async () => {
    const folder = await temporaryFolder();
    const { code, err } = await runImport('http://127.0.0.1:1', folder);
    expect([code, err]).toEqual([3, expect.stringMatching(/127\.0\.0\.1:1.*(refused|bad port)/i)]);
    expect(await filesOf(folder)).toEqual({});
  });
});

describe('import fails', () => {
  it.each(['file', 'file/desired-state'])(
    'if the path of the folder, %s, is or contains a file',
    async (path) => {
      const top = await temporaryFolder();
      await writeFile(join(top, 'file'), '');
      const { code, err } = await runImport(await serveRecords(RECORDS), join(top, path));
      expect([code, err]).toEqual([2, expect.stringContaining(`${path} is not a folder`)]);
    },
  );

  it('if the folder cannot be created', async () => {
    const top = await temporaryFolder();
    await symlink('loop', join(top, 'loop'));
    const { code, err } = await runImport(await serveRecords(RECORDS), join(top, 'loop/fleet'));
    expect([code, err]).toEqual([3, expect.stringMatching(/^holdfast: ELOOP: .*loop/)]);
  });
});

describe('an obstacle in the place of a file', () => {
  it.each<[string, (folder: string) => Promise<unknown>, string]>([
    ['a link in place of its folder', (folder) => symlink('..', join(folder, 'apps')), ': 1 written, 2 not'],
    ['a file in place of its folder', (folder) => writeFile(join(folder, 'apps'), ''), ': 1 written, 2 not'],
    [
      'a folder with its name',
      (folder) => mkdir(join(folder, 'apps/web.yaml'), { recursive: true }),
      ': 2 written, 1 not',
    ],
  ])('is reported, and all other files are written: %s', async (_, put, counts) => {
    const top = await temporaryFolder();
    const folder = join(top, 'desired-state');
    await mkdir(folder);
    await put(folder);
    const { code, out, err } = await runImport(await serveRecords(RECORDS), folder);
    expect([code, err]).toEqual([1, '']);
    expect(out).toMatch(/apps\/web\.yaml:1:1: error: is not written: .* in its place/);
    expect(out).toContain(counts);
    expect(await readdir(top)).toEqual(['desired-state']);
  });
});

describe('import refuses', () => {
  it.each([
    ['no address', ['import']],
    ['an address as the folder', ['import', 'http://ann:hunter2@one']],
    ['an empty address', ['import', '--from', '']],
    ['an address without http', ['import', '--from', 'mongodb://one/hunter2']],
    ['an address without a scheme', ['import', '--from', 'one:8080/hunter2']],
    ['credentials in the address', ['import', '--from', 'http://ann:hunter2@one']],
    ['a name in the address', ['import', '--from', 'http://hunter2@one']],
    ['a query in the address', ['import', '--from', 'http://one/?token=hunter2']],
  ])('%s', async (_, argv) => {
    const { code, out, err } = await runCli(argv);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('--from ADDRESS');
    expect(err).not.toContain('hunter2');
  });

  it('a user without a password', async () => {
    const env = { BASIC_AUTH_USER: 'ann' };
    const { code, err } = await runCli(['import', '--from', 'http://one'], { env });
    expect([code, err]).toEqual([2, expect.stringContaining('belong together')]);
  });
});
