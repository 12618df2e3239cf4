import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/settings/config.ts';
import { temporaryFolder } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { lastCommit } from '../support/manager-state.ts';

type Env = Record<string, string>;

function configOf(env: Env, argv: string[] = []): Record<string, unknown> {
  const result = parseConfig(env, argv);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config;
}

function problemsOf(env: Env, argv: string[] = []): string[] {
  const result = parseConfig(env, argv);
  return result.ok ? [] : result.problems;
}

describe('docs/contract.md, 12.1: settings', () => {
  it.each([
    ['HOST', '127.0.0.1'],
    ['PORT', 8080],
    ['DESIRED_STATE', './desired-state'],
    ['GIT_BRANCH', null],
    ['GIT_POLL_INTERVAL', 30],
    ['DATA_DIR', './data'],
    ['MONGODB_URI', null],
    ['MONGODB_DATABASE', 'holdfast'],
    ['CACHE_TIME', 10],
    ['REPORT_TTL', 604_800],
    ['REPORTS_MAX_BYTES', 1_073_741_824],
    ['BODY_LIMIT', 1_048_576],
    ['BASIC_AUTH_USER', null],
    ['BASIC_AUTH_PASSWORD', null],
    ['AUTH_ENABLED', true],
    ['DEFAULT_NETWORKS', ['nebula', 'bridge']],
    ['STRICT', false],
    ['LOG_LEVEL', 'info'],
  ])('%s: default %j; an empty variable counts as unset', (name, value) => {
    expect(configOf({})[name]).toEqual(value);
    expect(configOf({ [name]: '' })[name]).toEqual(value);
  });

  it.each([
    ['HOST', '--host', '::1', '::1', '0.0.0.0'],
    ['PORT', '--port', '9000', 9000, '1'],
    ['DESIRED_STATE', '--desired-state', 'fleet', 'fleet', 'x'],
    ['GIT_BRANCH', '--git-branch', 'prod', 'prod', 'x'],
    ['GIT_POLL_INTERVAL', '--git-poll-interval', '0', 0, '5'],
    ['DATA_DIR', '--data-dir', '/var/lib/x', '/var/lib/x', 'y'],
    ['MONGODB_URI', '--mongodb-uri', 'mongodb://a', 'mongodb://a', 'mongodb://b'],
    ['MONGODB_DATABASE', '--mongodb-database', 'fleet', 'fleet', 'x'],
    ['CACHE_TIME', '--cache-time', '0', 0, '5'],
    ['REPORT_TTL', '--report-ttl', '60', 60, '5'],
    ['REPORTS_MAX_BYTES', '--reports-max-bytes', '2000000', 2_000_000, '3000000'],
    ['BODY_LIMIT', '--body-limit', '2048', 2048, '4096'],
    ['AUTH_ENABLED', '--auth-enabled', 'false', false, 'true'],
    ['DEFAULT_NETWORKS', '--default-networks', 'lan', ['lan'], 'a,b'],
    ['STRICT', '--strict', 'true', true, 'false'],
    ['LOG_LEVEL', '--log-level', 'debug', 'debug', 'warn'],
  ])(
    'environment variables; the same names in kebab-case are flags of serve and win over them: %s',
    (name, flag, text, value, other) => {
      expect(configOf({ [name]: text })[name]).toEqual(value);
      expect(configOf({ [name]: other }, [flag, text])[name]).toEqual(value);
      expect(configOf({ [name]: other }, [`${flag}=${text}`])[name]).toEqual(value);
      expect(configOf({}, [flag, text])[name]).toEqual(value);
    },
  );

  it.each([
    ['PORT', ['x', '-1', '65536', '80.5', '0x50', ' 80', '1e3']],
    ['GIT_POLL_INTERVAL', ['soon', '-1', '1.5']],
    ['CACHE_TIME', ['-1', 'x', '1.5', 'Infinity']],
    ['REPORT_TTL', ['x', '-5']],
    ['REPORTS_MAX_BYTES', ['1048575', '1 GiB', '-1']],
    ['BODY_LIMIT', ['1 MiB', '-1', '1.5']],
    ['AUTH_ENABLED', ['no', '0', 'False', 'off', 'yes']],
    ['STRICT', ['1', 'yes', 'TRUE']],
    ['LOG_LEVEL', ['loud', 'INFO']],
  ])('reports an invalid value as a problem that names the variable or the flag: %s', (name, values) => {
    for (const value of values) {
      expect(problemsOf({ [name]: value }), value).toEqual([expect.stringContaining(name)]);
      const flag = `--${name.toLowerCase().replaceAll('_', '-')}`;
      expect(problemsOf({}, [`${flag}=${value}`]), value).toEqual([expect.stringContaining(flag)]);
    }
  });

  it('All problems of the settings are reported at once', () => {
    const env = { PORT: 'x', STRICT: 'x', CACHE_TIME: 'x', LOG_LEVEL: 'x' };
    const problems = problemsOf(env, ['--colour=red', '--host']);
    expect(problems).toHaveLength(6);
    for (const name of ['PORT', 'STRICT', 'CACHE_TIME', 'LOG_LEVEL', '--colour', '--host'])
      expect(problems, name).toContainEqual(expect.stringContaining(name));
  });

  it('reports arguments that are not flags with one value each', () => {
    for (const argv of [
      ['extra'],
      ['--port', '1', 'extra'],
      ['-p', '1'],
      ['--no-strict'],
      ['--port'],
      ['--port', '1', '--port', '2'],
    ])
      expect(problemsOf({}, argv), argv.join(' ')).not.toEqual([]);
  });

  it.each([
    ['a user without a password', { BASIC_AUTH_USER: 'a' }],
    ['a password without a user', { BASIC_AUTH_PASSWORD: 'secret-word' }],
    ['a password and an empty user', { BASIC_AUTH_USER: '', BASIC_AUTH_PASSWORD: 'secret-word' }],
    ['a user with a colon', { BASIC_AUTH_USER: 'a:b', BASIC_AUTH_PASSWORD: 'secret-word' }],
  ])('reports an incomplete or invalid administrator, without the password: %s', (_, env) => {
    const problems = problemsOf(env as Env);
    expect(problems).not.toEqual([]);
    expect(problems.join()).not.toContain('secret-word');
  });

  describe('a secret in the file that NAME_FILE names', () => {
    const FILES: Record<string, string> = {
      '/run/password': 'secret-word\n',
      '/run/crlf': 'secret-word\r\n',
      '/run/two-lines': ' two\nlines \n\n',
      '/run/byte-order-mark': '\ufeffsecret-word\r\n',
      '/run/empty': '\n',
      '/run/mongo': 'mongodb://store\n',
    };
    const read = (env: Env, argv: string[] = []) =>
      parseConfig(env, argv, (path) => {
        const text = FILES[path];
        if (text === undefined) throw new Error(`ENOENT: no such file, open '${path}'`);
        return text;
      });

    it.each([
      ['WEBHOOK_SECRET', '/run/password', 'secret-word'],
      ['WEBHOOK_SECRET', '/run/crlf', 'secret-word'],
      ['WEBHOOK_SECRET', '/run/byte-order-mark', 'secret-word'],
      ['WEBHOOK_SECRET', '/run/two-lines', ' two\nlines \n'],
      ['MONGODB_URI', '/run/mongo', 'mongodb://store'],
    ])('is read without its byte order mark and its last line break: %s in %s', (name, path, value) => {
      expect(read({ [`${name}_FILE`]: path })).toMatchObject({ ok: true, config: { [name]: value } });
      const flag = `--${name.toLowerCase().replaceAll('_', '-')}-file`;
      expect(read({}, [flag, path])).toMatchObject({ ok: true, config: { [name]: value } });
    });

    it.each([
      ['BASIC_AUTH_PASSWORD', { BASIC_AUTH_USER: 'a', BASIC_AUTH_PASSWORD_FILE: '/run/password' }],
      ['DEVICE_AUTH_PASSWORD', { DEVICE_AUTH_USER: 'a', DEVICE_AUTH_PASSWORD_FILE: '/run/password' }],
    ])('is the password of an account whose user is set: %s', (name, env) => {
      expect(read(env)).toMatchObject({ ok: true, config: { [name]: 'secret-word' } });
    });

    it.each([
      ['a missing file', { WEBHOOK_SECRET_FILE: '/run/none' }, /WEBHOOK_SECRET_FILE .*\/run\/none/],
      ['an empty file', { WEBHOOK_SECRET_FILE: '/run/empty' }, /WEBHOOK_SECRET_FILE must not be empty/],
      [
        'a file beside the secret itself',
        { WEBHOOK_SECRET: 'x', WEBHOOK_SECRET_FILE: '/run/password' },
        /WEBHOOK_SECRET and WEBHOOK_SECRET_FILE are both set/,
      ],
      [
        'a file with an invalid value',
        { MONGODB_URI_FILE: '/run/password' },
        /MONGODB_URI_FILE must be a mongodb/,
      ],
      [
        'a token and its file',
        { GIT_TOKEN: 'x', GIT_TOKEN_FILE: '/run/none' },
        /GIT_TOKEN and GIT_TOKEN_FILE are both/,
      ],
    ])('is reported as a problem, without the secret: %s', (_, env, problem) => {
      const result = read(env as Env);
      const problems = result.ok ? [] : result.problems;
      expect(problems).toEqual([expect.stringMatching(problem)]);
      expect(problems.join()).not.toContain('secret-word');
    });

    it('is not read at the start if it is GIT_TOKEN_FILE, since tokens are renewed', () => {
      expect(read({ GIT_TOKEN_FILE: '/run/none' })).toMatchObject({
        ok: true,
        config: { GIT_TOKEN: null, GIT_TOKEN_FILE: '/run/none' },
      });
    });

    it('is not possible for a setting that is not secret: --port-file is an unknown flag', () => {
      expect(read({}, ['--port-file', '/run/password'])).toMatchObject({ ok: false });
    });
  });

  it('Turning authentication off must be asked for in so many words', () => {
    for (const env of [{}, { AUTH_ENABLED: '' }, { AUTH_ENABLED: 'true' }])
      expect(configOf(env)['AUTH_ENABLED']).toBe(true);
    expect(configOf({ AUTH_ENABLED: 'false' })['AUTH_ENABLED']).toBe(false);
  });
});

describe('docs/contract.md, 12.1: effects of settings', () => {
  it("DEFAULT_NETWORKS: default of an app's networks", async () => {
    const manager = await startManager({ files: SMALL_FLEET, settings: { DEFAULT_NETWORKS: 'lan,wan' } });
    expect((await manager.get('/api/v2/apps/web')).body.networks).toEqual(['lan', 'wan']);
    const { body } = await manager.post('/api/v2/apps/new', { container_image: 'a' });
    expect(body.networks).toEqual(['lan', 'wan']);
    await manager.post('/api/v2/apps/same', { container_image: 'a', networks: ['lan', 'wan'] });
    expect(await manager.repository.show('desired-state/apps/same.yaml')).toBe('container_image: a\n');
    await manager.post('/api/v2/apps/other', { container_image: 'a', networks: ['nebula', 'bridge'] });
    expect((await manager.get('/api/v2/apps/other')).body.networks).toEqual(['nebula', 'bridge']);
    expect(await manager.repository.show('desired-state/apps/other.yaml')).toContain('nebula');
  });

  it('DATA_DIR: created with mode 0700, and so are its missing parent folders', async () => {
    const folder = await temporaryFolder();
    await startManager({ files: SMALL_FLEET, dataFolder: join(folder, 'a/b/data') });
    for (const path of ['a', 'a/b', 'a/b/data'])
      expect((await stat(join(folder, path))).mode & 0o777, path).toBe(0o700);
  });

  it('GIT_BRANCH: unset, the branch that is checked out', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.repository.git('branch', 'prod');
    await manager.post('/api/v2/apps/web/stop');
    expect(await manager.repository.git('rev-list', '--count', 'main')).toBe('2');
    expect(await manager.repository.git('rev-list', '--count', 'prod')).toBe('1');
  });

  it('GIT_BRANCH: a branch that is not checked out is followed and written to, and the checkout stays as it is', async () => {
    const first = await startManager({ files: SMALL_FLEET });
    await first.repository.git('branch', 'prod');
    await first.repository.commit({ 'desired-state/apps/web.yaml': 'container_image: main:1\n' });
    const manager = await first.restart({ GIT_BRANCH: 'prod' });
    expect((await manager.get('/api/v2/apps/web')).body.container_image).toBe('nginx:1.26');
    const main = await manager.repository.git('rev-parse', 'HEAD');
    const reply = await manager.put('/api/v2/apps/web/update', { container_image: 'prod:1' });
    expect(reply.status).toBe(202);
    expect(await manager.repository.git('rev-parse', 'HEAD')).toBe(main);
    expect(await manager.repository.git('status', '--porcelain')).toBe('');
    expect(await manager.repository.show('desired-state/apps/web.yaml', 'prod')).toContain('prod:1');
    expect(reply.headers.get('holdfast-revision')).toBe(await manager.repository.git('rev-parse', 'prod'));
  });

  it('DESIRED_STATE: the folder, in a git work tree of this machine, or all of the work tree', async () => {
    const repository = await testRepository();
    await repository.commit({ 'apps/top.yaml': 'container_image: top:1\n' });
    const manager = await startManager({ repository, settings: { DESIRED_STATE: repository.folder } });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: ['top'] });
    await manager.post('/api/v2/apps/next', { container_image: 'a' });
    expect((await lastCommit(repository)).files).toEqual(['A apps/next.yaml']);
  });

  it('LOG_LEVEL=trace: neither the password nor values of env_vars are in the log', async () => {
    const settings = { BASIC_AUTH_PASSWORD: 'hunter2-hunter2' };
    const manager = await startManager({ files: SMALL_FLEET, settings, logLevel: 'trace' });
    const authorization = `Basic ${Buffer.from('operator:hunter2-hunter2').toString('base64')}`;
    await manager.get('/api/v2/apps', { authorization });
    const change = { env_vars: { TOKEN: 'value-of-token' } };
    expect((await manager.put('/api/v2/apps/web/update', change, { authorization })).status).toBe(202);
    const log = JSON.stringify(manager.log);
    expect(log).toContain('/api/v2/apps/web/update');
    for (const secret of ['hunter2-hunter2', authorization.slice(6), 'value-of-token'])
      expect(log).not.toContain(secret);
  });
});
