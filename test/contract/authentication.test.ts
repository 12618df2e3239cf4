import { readdir, readFile, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { join, relative } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Service, startService } from '../../src/service/service.ts';
import { parseConfig } from '../../src/settings/config.ts';
import { temporaryFolder } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import {
  AUTHORIZATION,
  PASSWORD,
  REAL_CLOCK,
  SMALL_FLEET,
  startManager,
  type TestManager,
  USER,
} from '../support/manager.ts';
import { expectRefused, lastCommit } from '../support/manager-state.ts';
import { sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';
import { basic } from './expected.ts';

const PATHS: readonly (readonly [string, string])[] = [
  ['GET', '/api/v2/status'],
  ['GET', '/api/v2/apps'],
  ['GET', '/api/v2/apps/web'],
  ['GET', '/api/v2/apps/nope'],
  ['POST', '/api/v2/apps/evil'],
  ['DELETE', '/api/v2/apps/web'],
  ['POST', '/api/v2/apps/web/stop'],
  ['POST', '/api/v2/apps/web/start'],
  ['POST', '/api/v2/apps/web/restart'],
  ['POST', '/api/v2/apps/web/update'],
  ['PUT', '/api/v2/apps/web/update'],
  ['PATCH', '/api/v2/apps/web/update'],
  ['POST', '/api/v2/prune'],
  ['GET', '/api/v2/device_groups'],
  ['GET', '/api/v2/device_groups/edge'],
  ['GET', '/api/v2/device_groups/edge/info'],
  ['POST', '/api/v2/device_groups/edge'],
  ['DELETE', '/api/v2/device_groups/edge'],
  ['POST', '/api/v2/device_groups/edge/update'],
  ['POST', '/api/v2/device_groups/edge/prune'],
  ['GET', '/api/v2/reports'],
  ['POST', '/api/v2/reports'],
  ['GET', '/api/v2/reconcile'],
  ['POST', '/api/v2/reconcile'],
];

describe('docs/contract.md, 6.2: Missing or wrong credentials', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it.each(PATHS)('401, WWW-Authenticate, access_allowed: false: %s %s', async (method, path) => {
    for (const authorization of [null, basic(`${USER}:wrong`)]) {
      const body = method === 'GET' ? {} : { body: { container_image: 'evil', apps: [] } };
      const reply = await expectRefused(manager(), 401, () =>
        manager().request(method, path, { authorization, ...body }),
      );
      expect(reply.headers.get('www-authenticate')).toMatch(/^Basic realm="[^"]+"/);
      expect(reply.body).toEqual({ access_allowed: false });
    }
  });

  it.each([
    ['an empty header', ''],
    ['the scheme alone', 'Basic'],
    ['the scheme and a space', 'Basic '],
    ['the scheme Bearer', `Bearer ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`],
    ['no scheme', Buffer.from(`${USER}:${PASSWORD}`).toString('base64')],
    ['credentials that are not encoded', `Basic ${USER}:${PASSWORD}`],
    ['characters outside of base64', 'Basic !!!!'],
    ['no colon', basic(`${USER}${PASSWORD}`)],
    ['only a colon', basic(':')],
    ['no password', basic(`${USER}:`)],
    ['no user', basic(`:${PASSWORD}`)],
    ['another user', basic(`admin:${PASSWORD}`)],
    ['the user in upper case', basic(`${USER.toUpperCase()}:${PASSWORD}`)],
    ['the password without its last character', basic(`${USER}:${PASSWORD.slice(0, -1)}`)],
    ['the password and a space', basic(`${USER}:${PASSWORD} `)],
    ['the password and NUL', basic(`${USER}:${PASSWORD}\0`)],
    ['the credentials twice', `${basic(`${USER}:${PASSWORD}`)}, ${basic(`${USER}:${PASSWORD}`)}`],
    ['something after the credentials', `${basic(`${USER}:${PASSWORD}`)} x`],
    ['undefined as user and password', basic('undefined:undefined')],
    ['null as user and password', basic('null:null')],
    ['a password of 6,000 characters', basic(`${USER}:${'x'.repeat(6000)}`)],
  ])('401 for %s', async (_, authorization) => {
    const reply = await manager().get('/api/v2/apps', { authorization });
    expect(reply.status).toBe(401);
    expect(reply.body).toEqual({ access_allowed: false });
  });

  it.each(['basic', 'BASIC', 'bAsIc'])('the scheme is accepted in any case: %s', async (scheme) => {
    const authorization = basic(`${USER}:${PASSWORD}`).replace('Basic', scheme);
    expect((await manager().get('/api/v2/apps', { authorization })).status).toBe(200);
  });

  it.each([
    'http://x/api/v2/apps',
    'https://x/api/v2/apps',
    'HTTP://x/api/v2/apps',
    'http:///api/v2/apps',
    'http://user:pass@x:1/api/v2/device_groups/edge/info',
    '/%61pi/v2/apps',
    '/%61%70%69/v2/apps/web',
    '//api/v2/apps',
    '/api//v2/apps',
    '/api%2Fv2%2Fapps',
    '/api/v2/%61pps',
    '/api/v2/apps?x=%zz',
    '/api/v2/apps/%zz',
    '/api',
    '/api/',
    '/api?x',
    '/api#x',
    '/api/v2/nothing/here',
    `/api/v2/apps/${'a'.repeat(600)}`,
  ])(
    'Under /api/ credentials come first, also for unknown routes, however the path is spelled: %s',
    async (path) => {
      for (const method of ['GET', 'PROPFIND']) {
        const reply = await sendRaw(manager(), { method, path, authorization: null });
        expect(reply.status, method).toBe(401);
        expect(reply.headers['www-authenticate'], method).toMatch(/^Basic realm="[^"]+"/);
        expect(reply.body, method).toEqual({ access_allowed: false });
      }
    },
  );

  it.each(['http://x/healthz', '/healthz', '/readyz'])('the probes need no credentials: %s', async (path) => {
    const reply = await sendRaw(manager(), { path, authorization: null });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ status: 'ok' });
  });
});

describe('docs/contract.md, 6.1: Credentials', () => {
  it('accepts users and passwords with letters outside of ASCII, and passwords with colons and spaces', async () => {
    const password = 'a:b c \u00e4\u{1f511}';
    const settings = { BASIC_AUTH_USER: 'J\u00f6rg', BASIC_AUTH_PASSWORD: password };
    const manager = await startManager({ files: SMALL_FLEET, settings });
    const right = basic(`J\u00f6rg:${password}`);
    expect((await manager.get('/api/v2/apps', { authorization: right })).status).toBe(200);
    expect((await manager.get('/api/v2/apps', { authorization: basic('J\u00f6rg:a') })).status).toBe(401);
    expect((await manager.get('/api/v2/apps')).status).toBe(401);
  });

  it('AUTH_ENABLED=false: any credentials or none are accepted, commits are by anonymous, and other origins are still refused', async () => {
    const manager = await startManager({ files: SMALL_FLEET, settings: { AUTH_ENABLED: 'false' } });
    for (const authorization of [null, basic('a:b'), 'Basic !!']) {
      expect((await manager.get('/api/v2/apps', { authorization })).status).toBe(200);
    }
    const reply = await manager.post('/api/v2/apps/web/stop', undefined, { authorization: basic('eve:x') });
    expect(reply.status).toBe(202);
    const commit = await lastCommit(manager.repository);
    expect(commit.author).toBe('anonymous <anonymous@holdfast.invalid>');
    expect(commit.trailers).toContain('Api-User: anonymous');
    const headers = { origin: 'https://evil.example' };
    expect((await sendRaw(manager, { path: '/api/v2/apps', headers, authorization: null })).status).toBe(403);
  });
});

describe('a manager with a short password or secret', () => {
  it('warns of it by the name of the setting, and does not show it', async () => {
    const settings = { BASIC_AUTH_PASSWORD: 'of fifteen char', WEBHOOK_SECRET: 'of sixteen chars' };
    const manager = await startManager({ files: SMALL_FLEET, settings });
    const warnings = manager.log.filter(({ msg }) => String(msg).startsWith('secrets can be guessed'));
    expect(warnings).toMatchObject([{ level: 40, settings: ['BASIC_AUTH_PASSWORD'] }]);
    expect(JSON.stringify(manager.log)).not.toContain(settings.BASIC_AUTH_PASSWORD);
  });
});

describe('docs/contract.md, 6.3: First start without any credentials configured', () => {
  interface Start {
    service: Service;
    /** Texts for the operator, which are not logged. */
    announced: string[];
    log: string[];
  }

  async function startWithoutCredentials(folder: string, data: string): Promise<Start> {
    const settings = {
      PORT: '0',
      DESIRED_STATE: join(folder, 'desired-state'),
      DATA_DIR: data,
      GIT_POLL_INTERVAL: '0',
    };
    const result = parseConfig(settings, []);
    if (!result.ok) throw new Error(result.problems.join());
    const announced: string[] = [];
    const log: string[] = [];
    const service = await startService(result.config, {
      clock: REAL_CLOCK,
      env: { PATH: process.env['PATH'] },
      logger: pino({ level: 'trace' }, { write: (line) => void log.push(line) }),
      announce: (text) => void announced.push(text),
    });
    return { service, announced, log };
  }

  async function statusFor({ service }: Start, password: string): Promise<number> {
    const headers = { authorization: basic(`admin:${password}`) };
    return (await fetch(`${service.address}/api/v2/apps`, { headers })).status;
  }

  it('an admin password is made, printed once, and only its hash is kept', async () => {
    const repository = await testRepository();
    await repository.commit({ 'desired-state/apps/web.yaml': 'container_image: a\n' });
    const data = join(await temporaryFolder(), 'data');
    const first = await startWithoutCredentials(repository.folder, data);
    onTestFinished(() => first.service.close());

    expect(first.announced).toHaveLength(1);
    const words = first.announced.join(' ').split(/[\s"]+/);
    const password = words.find((word) => word.length >= 16 && !word.includes('/')) ?? '';
    expect(password).not.toBe('');
    expect(first.announced.join(' ')).toContain('admin');
    expect(await statusFor(first, password)).toBe(200);
    expect(await statusFor(first, `${password}x`)).toBe(401);
    expect(await statusFor(first, '')).toBe(401);
    expect(first.log.join('\n')).not.toContain(password);
    expect((await stat(data)).mode & 0o777).toBe(0o700);
    const entries = await readdir(data, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((found) => found.isFile())) {
      const file = relative(data, join(entry.parentPath, entry.name));
      expect(await readFile(join(data, file), 'latin1'), file).not.toContain(password);
      if (file.includes('admin')) expect((await stat(join(data, file))).mode & 0o077).toBe(0);
    }
    await first.service.close();

    const second = await startWithoutCredentials(repository.folder, data);
    onTestFinished(() => second.service.close());
    expect(second.announced).toEqual([]);
    expect(await statusFor(second, password)).toBe(200);
  });

  it('devices and the admin are let in during a flood of guesses after a restart', async () => {
    const device = { DEVICE_AUTH_USER: 'device', DEVICE_AUTH_PASSWORD: 'of many shops' };
    const manager = await startManager({ files: SMALL_FLEET, settings: device });
    const info = '/api/v2/device_groups/edge/info';
    const guesses = Array.from({ length: 10 }, (_, connection) =>
      Array.from({ length: 10 }, (_, index) =>
        basic(`${index % 2 ? USER : 'nobody'}:guess ${connection}.${index}`),
      ),
    );
    guesses.at(-1)?.push(basic('device:of many shops'), AUTHORIZATION);
    const replies = (
      await Promise.all(guesses.map((credentials) => pipelined(manager, info, credentials)))
    ).flat();
    expect(replies.splice(-2).map((reply) => reply.slice(0, 3))).toEqual(['200', '200']);
    expect(new Set(replies.map((reply) => reply.slice(0, 3)))).toEqual(new Set(['401']));
  });
});

/** Sends a GET with each of these credentials at once, over one connection; resolves to the replies, from their statuses on. */
async function pipelined(
  { service }: TestManager,
  path: string,
  credentials: readonly string[],
): Promise<string[]> {
  const { hostname, port } = new URL(service.address);
  const socket = connect(Number(port), hostname).setEncoding('utf8');
  const requestOf = (authorization: string, index: number) => {
    const connection = index === credentials.length - 1 ? 'close' : 'keep-alive';
    const headers = `Host: a\r\nAuthorization: ${authorization}\r\nConnection: ${connection}`;
    return `GET ${path} HTTP/1.1\r\n${headers}\r\n\r\n`;
  };
  socket.write(credentials.map(requestOf).join(''));
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text.split('HTTP/1.1 ').slice(1);
}
