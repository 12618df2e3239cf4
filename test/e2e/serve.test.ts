import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { lastCommit } from '../support/manager-state.ts';
import { type Program, runProgram, serve, setUpFleet, stop } from './program.ts';

const INFO = '/api/v2/device_groups/edge/info';
const WEB = '/api/v2/apps/web';
const FILE = 'desired-state/apps/web.yaml';

interface Credentials {
  user: string;
  password: string;
}

/** The credentials that a first start prints. */
async function shownCredentials(program: Program): Promise<Credentials> {
  const [, user = '', password = ''] = await program.waitFor(/Sign in as "(\w+)" with the password (\S+)/);
  return { user, password };
}

/** A function that sends requests with these credentials and parses the replies. */
function client({ address }: Program, { user, password }: Credentials) {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  return async (path: string, init: RequestInit = {}) => {
    const headers = { authorization, 'content-type': 'application/json', ...init.headers };
    const reply = await fetch(address + path, { ...init, headers });
    return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Info };
  };
}

interface Info {
  apps: { app_name: string; container_image: string }[];
}

/** The image of the app `web`. */
function imageIn(info: Info): string | undefined {
  return info.apps.find(({ app_name: name }) => name === 'web')?.container_image;
}

/** The URL of an origin that accepts connections and never answers. */
async function silentOrigin(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await once(server, 'listening');
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/fleet.git`;
}

describe('serve of the built program', () => {
  it('writes its address to the data folder and reports its origin while the first fetch still runs', async () => {
    const { dataFolder } = await setUpFleet();
    const GIT_REMOTE = await silentOrigin();
    const env = { PORT: '0', DATA_DIR: dataFolder, GIT_REMOTE, GIT_TIMEOUT: '600', AUTH_ENABLED: 'false' };
    const program = runProgram(['serve'], env);
    const [, address] = await program.waitFor(/"address":"([^"]+)"/);
    const file = JSON.parse(await readFile(join(dataFolder, 'manager.json'), 'utf8'));
    expect(file).toMatchObject({ pid: program.child.pid, address });
    expect(program.stdout()).toContain('"desiredState":"./desired-state"');
    const status = await fetch(`${address}/api/v2/reconcile`);
    expect(await status.json()).toMatchObject({
      state: 'starting',
      origin: { address: GIT_REMOTE, reached_at: null, error: null },
    });
    expect(await stop(program)).toBe(0);
  });

  it('serves a fleet through its first start, a commit, a write, a restart and a kill', async () => {
    const setup = await setUpFleet();
    // Without polling, only the watch can find the commit.
    const first = await serve(setup, { GIT_POLL_INTERVAL: '0' });
    const shown = await shownCredentials(first);
    const ask = client(first, shown);

    // A device polls.
    const before = await ask(INFO);
    expect([before.status, imageIn(before.body)]).toEqual([200, 'nginx:1.26']);

    // A user commits, and the device sees it with one of its next polls.
    await setup.repository.commit({ [FILE]: '# the web server\ncontainer_image: nginx:1.27\n' });
    await expect.poll(async () => imageIn((await ask(INFO)).body), { timeout: 60_000 }).toBe('nginx:1.27');

    // An operator writes through the API, and git has a commit.
    const written = await ask(`${WEB}/update`, {
      method: 'PUT',
      body: JSON.stringify({ container_image: 'nginx:1.28' }),
      headers: { 'x-request-id': 'roll-out-28' },
    });
    expect(written.status).toBe(202);
    expect(await lastCommit(setup.repository)).toMatchObject({
      id: written.headers.get('holdfast-revision'),
      author: 'admin <admin@holdfast.invalid>',
      subject: 'app web: container_image 1.27 -> 1.28',
      trailers: ['Request-Id: roll-out-28', 'Api-User: admin'],
      files: [`M ${FILE}`],
    });
    const text = '# the web server\ncontainer_image: nginx:1.28\n';
    expect(await readFile(join(setup.repository.folder, FILE), 'utf8')).toBe(text);
    await ask(`${WEB}/restart`, { method: 'POST' });
    const last = await ask(INFO);

    // After a restart, the password of the first start works, and no id has changed.
    expect(await stop(first)).toBe(0);
    const second = await serve(setup);
    const again = await client(second, shown)(INFO);
    expect(again.body).toEqual(last.body);
    expect(again.headers.get('etag')).toBe(last.headers.get('etag'));

    // The same holds after a kill.
    expect(await stop(second, 'SIGKILL')).toBe(null);
    const third = await serve(setup);
    expect((await client(third, shown)(INFO)).body).toEqual(last.body);

    // The password was shown once, on standard error, and is in no log.
    for (const program of [second, third]) expect(program.output()).not.toContain('Sign in');
    expect(first.output().split(shown.password)).toHaveLength(2);
    const basic = Buffer.from(`${shown.user}:${shown.password}`).toString('base64');
    for (const program of [first, second, third]) {
      for (const secret of [shown.password, basic]) expect(program.stdout()).not.toContain(secret);
    }
  });

  it('logs writes and refused reports, but neither polls nor accepted reports', async () => {
    const program = await serve(await setUpFleet(), {
      BASIC_AUTH_USER: 'pat',
      BASIC_AUTH_PASSWORD: 'hunter-2',
    });
    const ask = client(program, { user: 'pat', password: 'hunter-2' });
    const report = { hostname: 'till-1', device_group: 'edge', report_creation_time: 1_700_000_000 };
    const send = (body: unknown) => ask('/api/v2/reports', { method: 'POST', body: JSON.stringify(body) });
    expect((await ask(INFO)).status).toBe(200);
    expect((await send(report)).status).toBe(200);
    expect((await send({ hostname: 'till-1' })).status).toBe(400);
    expect((await ask(`${WEB}/stop`, { method: 'POST' })).status).toBe(202);
    expect(await stop(program)).toBe(0);
    const requests = program.log().filter(({ msg, url }) => msg === 'request' && url !== '/readyz');
    expect(requests.map(({ url, status }) => [url, status])).toEqual([
      ['/api/v2/reports', 400],
      [`${WEB}/stop`, 202],
    ]);
  });

  it('logs each event as one line of JSON without passwords, and each applied object with the reason', async () => {
    const setup = await setUpFleet();
    const settings = { BASIC_AUTH_USER: 'pat', BASIC_AUTH_PASSWORD: 'hunter-2\u00e9', LOG_LEVEL: 'trace' };
    const program = await serve(setup, settings);
    const ask = client(program, { user: 'pat', password: settings.BASIC_AUTH_PASSWORD });
    await ask(`${WEB}/stop`, { method: 'POST' });
    await client(program, { user: 'pat', password: 'a-wrong-guess' })(WEB);
    const revision = await setup.repository.git('rev-parse', 'HEAD');
    expect(await stop(program)).toBe(0);
    for (const line of program.log()) {
      expect(line).toMatchObject({ level: expect.any(Number), msg: expect.any(String) });
      expect(new Date(String(line['time'])).toISOString()).toBe(line['time']);
    }
    expect(program.log()).toContainEqual(
      expect.objectContaining({
        msg: 'app web: running true -> false',
        kind: 'app',
        name: 'web',
        id: expect.any(Number),
        file: 'apps/web.yaml',
        revision,
      }),
    );
    expect(program.log()).toContainEqual(
      expect.objectContaining({
        msg: 'listening',
        version: packageJson.version,
        desiredState: setup.env['DESIRED_STATE'],
      }),
    );
    const messages = program.log().map(({ msg }) => msg);
    // The total of refused requests can be logged in between.
    const ends = messages.filter((message) => message !== 'requests were refused').slice(-2);
    expect(ends).toEqual(['stopping', 'stopped']);
    expect(messages.filter((message) => /listening/i.test(String(message)))).toEqual(['listening']);
    for (const password of [settings.BASIC_AUTH_PASSWORD, 'a-wrong-guess']) {
      expect(program.output()).not.toContain(password);
      expect(program.output()).not.toContain(Buffer.from(`pat:${password}`).toString('base64'));
    }
  });
});
