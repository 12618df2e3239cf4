import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseConfig } from '../../src/settings/config.ts';
import { flagOf } from '../../src/settings/read.ts';
import type { Setting } from '../../src/settings/setting.ts';
import { type Config, SETTINGS, type SettingName, shownSettings } from '../../src/settings/table.ts';

const NAMES = Object.keys(SETTINGS) as SettingName[];
const ACCOUNT = { BASIC_AUTH_USER: 'root', BASIC_AUTH_PASSWORD: 'hunter2' };
const DEVICES = { DEVICE_AUTH_USER: 'devices', DEVICE_AUTH_PASSWORD: 'hunter3' };

function configOf(env: Record<string, string | undefined> = {}, argv: readonly string[] = []): Config {
  const result = parseConfig(env, argv);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config;
}

function problemsOf(env: Record<string, string | undefined>, argv: readonly string[] = []): string[] {
  const result = parseConfig(env, argv);
  return result.ok ? [] : result.problems;
}

/** For every setting: its default, accepted texts with their values, and refused texts with the reason. */
const TABLE: Record<
  SettingName,
  { fallback: unknown; accepts: [string, unknown][]; refuses: [string, string][] }
> = {
  HOST: {
    fallback: '127.0.0.1',
    accepts: [
      ['::', '::'],
      ['fleet.example', 'fleet.example'],
    ],
    refuses: [],
  },
  PORT: {
    fallback: 8080,
    accepts: [
      ['0', 0],
      ['65535', 65_535],
      ['080', 80],
    ],
    refuses: ['65536', '-1', '8.5', '80a', ' 80', '1e3', '0x50', '9'.repeat(400)].map((text) => [
      text,
      'must be a whole number from 0 to 65535',
    ]),
  },
  DESIRED_STATE: { fallback: './desired-state', accepts: [['/srv/fleet', '/srv/fleet']], refuses: [] },
  GIT_BRANCH: {
    fallback: null,
    accepts: [
      ['release/1', 'release/1'],
      ['refs/heads/release/1', 'release/1'],
    ],
    refuses: [
      ['refs/heads/', 'must not be empty'],
      ...[
        'refs/remotes/origin/main',
        'a..b',
        'a b',
        '/a',
        'a/',
        'a//b',
        '.a',
        'a/.b',
        'a.',
        'a.lock',
        'a.lock/b',
        'a@{1}',
        'a~1',
      ].map((text): [string, string] => [text, 'must be the name of a branch, such as main']),
    ],
  },
  GIT_REMOTE: {
    fallback: null,
    accepts: [
      'https://forge.example/team/fleet.git',
      'https://forge.example:8443/fleet',
      'ssh://git@forge.example:2222/fleet.git',
      'git@forge.example:team/fleet.git',
      '/srv/git/fleet.git',
      '/srv/our fleet.git',
      './fleet.git',
      '../fleet.git',
    ].map((text) => [text, text]),
    refuses: [
      ...[
        'fleet.git',
        '.fleet.git',
        '.../fleet.git',
        'http://forge.example/fleet',
        'git://forge.example/fleet',
        'ext::sh -c x',
        'file:///srv/fleet',
        '--upload-pack=x',
        'ssh://-oProxyCommand=x/fleet',
        '-oProxyCommand=x@host:fleet',
        'git@-oProxyCommand=x:fleet',
        'https://forge.example/a b',
        '/srv/a\nb',
      ].map((text): [string, string] => [
        text,
        'must be https://…, ssh://…, user@host:path or a path that begins with /, ./ or ../',
      ]),
    ],
  },
  GIT_USERNAME: {
    fallback: null,
    accepts: [['robot', 'robot']],
    refuses: [['a:b', 'must not be empty or contain a colon']],
  },
  GIT_TOKEN: { fallback: null, accepts: [['t0ken', 't0ken']], refuses: [] },
  GIT_TOKEN_FILE: {
    fallback: null,
    accepts: [['/run/secrets/token', '/run/secrets/token']],
    refuses: [['secrets/token', 'must be an absolute path']],
  },
  GIT_SSH_KEY: {
    fallback: null,
    accepts: [['/run/secrets/key', '/run/secrets/key']],
    refuses: [
      ['key', 'must be an absolute path'],
      ['/a"b', 'must be an absolute path'],
    ],
  },
  GIT_KNOWN_HOSTS: {
    fallback: null,
    accepts: [['/etc/known', '/etc/known']],
    refuses: [['~/x', 'must be an absolute path']],
  },
  GIT_CA_FILE: {
    fallback: null,
    accepts: [['/etc/ca.pem', '/etc/ca.pem']],
    refuses: [['ca.pem', 'must be an absolute path']],
  },
  GIT_TIMEOUT: {
    fallback: 20,
    accepts: [['1', 1]],
    refuses: [
      ['0', 'must be a whole number from 1 to 3600'],
      ['3601', 'must be a whole number from 1 to 3600'],
    ],
  },
  WEBHOOK_SECRET: { fallback: null, accepts: [['s', 's']], refuses: [] },
  GIT_POLL_INTERVAL: {
    fallback: 30,
    accepts: [
      ['0', 0],
      ['86400', 86_400],
    ],
    refuses: [
      ['86401', 'must be a whole number from 0 to 86400'],
      ['off', 'must be a whole number from 0 to 86400'],
    ],
  },
  DATA_DIR: { fallback: './data', accepts: [['/var/lib/holdfast', '/var/lib/holdfast']], refuses: [] },
  MONGODB_URI: {
    fallback: null,
    accepts: [
      ['mongodb://a:b@one,two/?replicaSet=fleet', 'mongodb://a:b@one,two/?replicaSet=fleet'],
      ['mongodb+srv://fleet.example/', 'mongodb+srv://fleet.example/'],
    ],
    refuses: ['localhost:27017', 'http://x', 'mongodb://', 'mongodb:///x'].map((text) => [
      text,
      'must be a mongodb:// or mongodb+srv:// address',
    ]),
  },
  MONGODB_DATABASE: {
    fallback: 'holdfast',
    accepts: [['nebula', 'nebula']],
    refuses: ['a.b', 'a b', '$x', 'x'.repeat(64)].map((text) => [
      text,
      'must be 1 to 63 letters, digits, "_" and "-"',
    ]),
  },
  CACHE_TIME: {
    fallback: 10,
    accepts: [
      ['0', 0],
      ['5', 5],
    ],
    refuses: [
      ['86401', 'must be a whole number from 0 to 86400'],
      ['-1', 'must be a whole number from 0 to 86400'],
      ['1.5', 'must be a whole number from 0 to 86400'],
      ['Infinity', 'must be a whole number from 0 to 86400'],
    ],
  },
  REPORT_TTL: {
    fallback: 604_800,
    accepts: [
      ['1', 1],
      ['315360000', 315_360_000],
    ],
    refuses: [
      ['0', 'must be a whole number from 1 to 315360000'],
      ['7d', 'must be a whole number from 1 to 315360000'],
    ],
  },
  REPORTS_MAX_BYTES: {
    fallback: 1_073_741_824,
    accepts: [['1048576', 1_048_576]],
    refuses: [
      ['1048575', 'must be a whole number from 1048576 to 999999999999999'],
      ['1GiB', 'must be a whole number from 1048576 to 999999999999999'],
    ],
  },
  REPORTS: {
    fallback: 'all',
    accepts: [
      ['changes', 'changes'],
      ['latest', 'latest'],
    ],
    refuses: [['none', 'must be all, changes or latest']],
  },
  DEVICE_SILENT_AFTER: {
    fallback: 600,
    accepts: [
      ['10', 10],
      ['86400', 86400],
    ],
    refuses: [
      ['9', 'must be a whole number from 10 to 86400'],
      ['86401', 'must be a whole number from 10 to 86400'],
    ],
  },
  DEVICE_TTL: {
    fallback: 604800,
    accepts: [
      ['60', 60],
      ['315360000', 315360000],
    ],
    refuses: [
      ['59', 'must be a whole number from 60 to 315360000'],
      ['315360001', 'must be a whole number from 60 to 315360000'],
    ],
  },
  DEVICES_MAX: {
    fallback: 100000,
    accepts: [
      ['1', 1],
      ['10000000', 10000000],
    ],
    refuses: [
      ['0', 'must be a whole number from 1 to 10000000'],
      ['10000001', 'must be a whole number from 1 to 10000000'],
    ],
  },
  ALERT_FAILED: {
    fallback: '5%',
    accepts: [
      ['100%', '100%'],
      ['7', '7'],
    ],
    refuses: ['101%', '-1', '5.5%', 'all'].map((text) => [
      text,
      'must be a share such as 5%, or a whole number',
    ]),
  },
  ALERT_SILENT: {
    fallback: '20%',
    accepts: [
      ['100%', '100%'],
      ['7', '7'],
    ],
    refuses: ['101%', '-1', '5.5%', 'all'].map((text) => [
      text,
      'must be a share such as 5%, or a whole number',
    ]),
  },
  FLEET_NAME: {
    fallback: null,
    accepts: [['shops of the north', 'shops of the north']],
    refuses: [['x'.repeat(65), 'must be 1 to 64 characters']],
  },
  BODY_LIMIT: {
    fallback: 1_048_576,
    accepts: [['1', 1]],
    refuses: [
      ['0', 'must be a whole number from 1 to 104857600'],
      ['1MB', 'must be a whole number from 1 to 104857600'],
    ],
  },
  BASIC_AUTH_USER: {
    fallback: null,
    accepts: [['jürgen o', 'jürgen o']],
    refuses: [
      ['a:b', 'must not be empty or contain a colon'],
      ['a\nb', 'must not be empty or contain a colon'],
    ],
  },
  BASIC_AUTH_PASSWORD: { fallback: null, accepts: [['a:b c', 'a:b c']], refuses: [] },
  BASIC_AUTH_EMAIL: {
    fallback: null,
    accepts: [['ops@example.com', 'ops@example.com']],
    refuses: ['ops', 'a b@c', 'a@b@c', '<a@b>'].map((text) => [text, 'must be an e-mail address']),
  },
  DEVICE_AUTH_USER: {
    fallback: null,
    accepts: [['shops', 'shops']],
    refuses: [['a:b', 'must not be empty or contain a colon']],
  },
  DEVICE_AUTH_PASSWORD: { fallback: null, accepts: [['a:b c', 'a:b c']], refuses: [] },
  AUTH_ENABLED: {
    fallback: true,
    accepts: [
      ['true', true],
      ['false', false],
    ],
    refuses: ['0', 'no', 'FALSE', 'off'].map((text) => [text, 'must be true or false']),
  },
  ALLOWED_HOSTS: {
    fallback: null,
    accepts: [['lab, fleet.example', ['lab', 'fleet.example']]],
    refuses: ['lab:8080', 'https://lab', '*.lab', 'lab,'].map((text) => [
      text,
      'must be host names without ports, separated by commas',
    ]),
  },
  DEFAULT_NETWORKS: {
    fallback: ['nebula', 'bridge'],
    accepts: [
      ['a', ['a']],
      ['a, b ,c', ['a', 'b', 'c']],
    ],
    refuses: ['a,,b', ',', ' '].map((text) => [text, 'must be names separated by commas']),
  },
  STRICT: { fallback: false, accepts: [['true', true]], refuses: [['yes', 'must be true or false']] },
  LOG_LEVEL: {
    fallback: 'info',
    accepts: [
      ['trace', 'trace'],
      ['silent', 'silent'],
    ],
    refuses: [['verbose', 'must be one of fatal, error, warn, info, debug, trace, silent']],
  },
};

describe.each(Object.entries(TABLE))('%s', (key, { fallback, accepts, refuses }) => {
  const name = key as SettingName;
  const flag = `--${flagOf(name)}`;
  const partner = { ...(name.startsWith('BASIC_') && ACCOUNT), ...(name.startsWith('DEVICE_') && DEVICES) };

  it(`is ${JSON.stringify(fallback)} if it is unset or an empty variable`, () => {
    expect(configOf()[name]).toEqual(fallback);
    expect(configOf({ [name]: '' })[name]).toEqual(fallback);
    expect(configOf({ [name]: undefined })[name]).toEqual(fallback);
  });

  it.each(accepts)('accepts %j', (text, value) => {
    expect(configOf({ ...partner, [name]: text })[name]).toEqual(value);
    expect(configOf({ ...partner }, [flag, text])[name]).toEqual(value);
    expect(configOf({ ...partner, [name]: 'overridden by the flag' }, [`${flag}=${text}`])[name]).toEqual(
      value,
    );
  });

  it.each(refuses)('refuses %j', (text, reason) => {
    const { isSecret }: Setting<unknown> = SETTINGS[name as SettingName];
    const shown = isSecret ? '' : `, not ${JSON.stringify(text.slice(0, 100))}`;
    expect(problemsOf({ ...partner, [name]: text })).toEqual([`${name} ${reason}${shown}`]);
    expect(problemsOf({ ...partner, [name]: 'x' }, [`${flag}=${text}`])).toEqual([
      `${flag} ${reason}${shown}`,
    ]);
  });

  it('refuses an empty flag', () => {
    expect(problemsOf(partner, [flag, ''])).toHaveLength(1);
    expect(problemsOf(partner, [flag, ''])[0]).toMatch(new RegExp(`^${flag} must`));
  });
});

describe('parsing flags', () => {
  it('accepts values that begin with a dash', () => {
    const config = configOf({}, ['--git-token', '-x', '--webhook-secret', '--port', '--host', '--']);
    expect(config).toMatchObject({ GIT_TOKEN: '-x', WEBHOOK_SECRET: '--port', HOST: '--', PORT: 8080 });
  });

  it('accepts -- after the last flag', () => {
    expect(configOf({}, ['--port', '1', '--'])).toMatchObject({ PORT: 1 });
  });

  const STRAY = 'is not expected here; settings are given as --flag VALUE';

  it.each<[string, string[], string[]]>([
    ['an unknown flag', ['--colour=1'], ['--colour is not a flag; --help lists them']],
    ['a misspelt flag', ['--prot=1'], ['--prot is not a flag; did you mean --port?']],
    [
      'the name of an environment variable',
      ['--GIT_TOKEN=1'],
      ['--GIT_TOKEN is not a flag; did you mean --git-token?'],
    ],
    [
      'a misspelt flag for the file of a secret',
      ['--webhook-secret-flie', '/run/secret'],
      ['--webhook-secret-flie is not a flag; did you mean --webhook-secret-file?'],
    ],
    [
      'names of JavaScript properties',
      ['--constructor=1', '--__proto__=1', '--toString'],
      [
        '--constructor is not a flag; --help lists them',
        '--__proto__ is not a flag; --help lists them',
        '--toString is not a flag; --help lists them',
      ],
    ],
    ['a negated flag', ['--no-strict'], ['--no-strict is not a flag; --help lists them']],
    ['a short flag', ['-p', '80'], ['-p is not a flag; --help lists them']],
    ['a long flag with one dash', ['-port=80'], ['-port is not a flag; did you mean --port?']],
    [
      'a long flag with one dash, and its value',
      ['-data-dir', '/x'],
      ['-data-dir is not a flag; did you mean --data-dir?'],
    ],
    [
      'a long flag with one dash before other flags',
      ['-git-token=SECRET', '--port', '9000'],
      ['-git-token is not a flag; did you mean --git-token?'],
    ],
    ['a short flag joined with its value', ['-pSECRET', '--port=1'], ['-p is not a flag; --help lists them']],
    ['a flag without dashes', ['git-token=SECRET'], [`"git-token" ${STRAY}`]],
    ['part of the name of one flag', ['--branch=1'], ['--branch is not a flag; did you mean --git-branch?']],
    ['part of the names of several flags', ['--user=1'], ['--user is not a flag; --help lists them']],
    ['a flag without a value', ['--host'], ['--host needs a value']],
    ['a flag that is given twice', ['--port=1', '--port', '2'], ['--port is given twice']],
    ['an argument that is not a flag', ['desired-state'], [`"desired-state" ${STRAY}`]],
    ['arguments after --', ['--', '--port', '1'], [`argument 2 ${STRAY}`, `argument 3 ${STRAY}`]],
  ])('reports %s', (_name, argv, problems) => {
    expect(problemsOf({}, argv)).toEqual(problems);
  });
});

describe('parseConfig', () => {
  it('reports every problem at once', () => {
    const env = { PORT: 'x', STRICT: 'maybe', BASIC_AUTH_USER: 'root' };
    expect(problemsOf(env, ['--cache-time', 'soon', '--colour', 'y'])).toEqual([
      '--colour is not a flag; --help lists them',
      'PORT must be a whole number from 0 to 65535, not "x"',
      '--cache-time must be a whole number from 0 to 86400, not "soon"',
      'STRICT must be true or false, not "maybe"',
      'BASIC_AUTH_USER and BASIC_AUTH_PASSWORD belong together; set both or neither',
    ]);
  });

  it.each<[string, Record<string, string>, string[]]>([
    ['no account', {}, []],
    ['a user and a password', ACCOUNT, []],
    ['a user, and a password as a flag', { BASIC_AUTH_USER: 'a' }, ['--basic-auth-password', 'b']],
    ['a user and a password of devices', DEVICES, []],
  ])('accepts %s', (_name, env, argv) => {
    expect(problemsOf(env, argv)).toEqual([]);
  });

  it.each<[string, Record<string, string>]>([
    ['a user alone', { BASIC_AUTH_USER: 'a' }],
    ['a user and an empty password', { BASIC_AUTH_USER: 'a', BASIC_AUTH_PASSWORD: '' }],
    ['a password alone', { BASIC_AUTH_PASSWORD: 'a' }],
    ['a user of devices alone', { DEVICE_AUTH_USER: 'a' }],
    ['a password of devices alone', { DEVICE_AUTH_PASSWORD: 'a' }],
  ])('refuses %s', (_name, env) => {
    expect(problemsOf(env)).toEqual([expect.stringMatching(/ belong together; set both or neither$/)]);
  });

  it('refuses a password of devices that is the one of the administrator', () => {
    const env = { ...ACCOUNT, ...DEVICES, DEVICE_AUTH_PASSWORD: ACCOUNT.BASIC_AUTH_PASSWORD };
    expect(problemsOf(env)).toEqual([
      'DEVICE_AUTH_PASSWORD equals BASIC_AUTH_PASSWORD: any device could change the fleet',
    ]);
  });

  it.each<[string, Record<string, string>, string[]]>([
    ['in a variable', { BASIC_AUTH_PASSWORD: 'hunter2', PORT: 'x' }, []],
    ['in a flag that is given twice', {}, ['--basic-auth-password=hunter2', '--basic-auth-password=hunter2']],
    ['in a misspelt flag', {}, ['--basic-auth-pasword', 'hunter2']],
    ['in a misspelt flag with =', {}, ['--basic-auth-pasword=hunter2']],
    ['in a flag with one dash', {}, ['-basic-auth-password=hunter2']],
    ['that contains a space and has no quotes', {}, ['--basic-auth-password', 'my', 'hunter2']],
  ])('never shows a password %s', (_name, env, argv) => {
    const problems = problemsOf(env, argv);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.join('\n')).not.toMatch(/hunter2|-h is|-u is/);
  });

  it.each([
    'https://robot:hunter2@forge.example/fleet',
    'https://hunter2@forge.example/fleet',
    'ssh://git:hunter2@forge.example/fleet',
    'http://robot:hunter2@forge.example/fleet',
    'https://robot:hunter2@forge.example/fleet?private_token=hunter2',
  ])('never shows credentials in an address: %s', (GIT_REMOTE) => {
    const problems = problemsOf({ GIT_REMOTE });
    expect(problems).toEqual([expect.stringMatching(/^GIT_REMOTE must .*\*\*\*@forge\.example/)]);
    expect(problems[0]).not.toContain('hunter2');
  });

  it.each(['https://forge.example/fleet?private_token=hunter2', 'ssh://forge.example/fleet?x=hunter2'])(
    'refuses an address of a remote repository with a query, which can be a secret: %s',
    (GIT_REMOTE) => {
      expect(problemsOf({ GIT_REMOTE })).toEqual([
        expect.stringMatching(/^GIT_REMOTE must not have a query .*forge\.example\/fleet\?\*\*\*"$/),
      ]);
    },
  );

  it.each(['/srv/fleet', '../fleet', 'a/../../b', 'a\nb'])(
    'refuses %j as the folder in a remote repository',
    (path) => {
      expect(problemsOf({ GIT_REMOTE: '/srv/a.git', DESIRED_STATE: path })).toHaveLength(1);
      expect(problemsOf({ DESIRED_STATE: path })).toEqual([]);
    },
  );

  it('shows only the beginning of a refused value, and escapes control characters', () => {
    expect(problemsOf({ LOG_LEVEL: `\u001b[2J${'x'.repeat(1000)}` })[0]).toMatch(/, not "\\u001b\[2Jx{96}"$/);
  });

  it('depends only on its arguments, and does not change them', () => {
    process.env['LOG_LEVEL'] = 'no level';
    const [env, argv] = [Object.freeze({ PORT: '1' }), Object.freeze(['--host', 'a'])];
    try {
      expect(configOf(env, argv)).toEqual(configOf({ ...env }, [...argv]));
    } finally {
      delete process.env['LOG_LEVEL'];
    }
  });

  it('either accepts or refuses any input, without throwing', () => {
    const setting = fc.constantFrom(...NAMES);
    const text = fc.oneof(fc.string(), fc.constantFrom('1', 'true', 'a', '--', '-', ''));
    const argument = fc.oneof(
      text,
      setting.map((name) => `--${flagOf(name)}`),
      fc.tuple(setting, text).map(([name, value]) => `--${flagOf(name)}=${value}`),
    );
    fc.assert(
      fc.property(fc.dictionary(setting, text), fc.array(argument, { maxLength: 6 }), (env, argv) => {
        const result = parseConfig(env, argv);
        if (result.ok) expect(Object.keys(result.config)).toEqual(NAMES);
        else expect(result.problems.length).toBeGreaterThan(0);
      }),
    );
  });
});

describe('shownSettings', () => {
  it('masks secrets that are set, and shows everything else', () => {
    const shown = shownSettings(configOf({ ...ACCOUNT, PORT: '1' }));
    expect(shown).toMatchObject({ BASIC_AUTH_USER: 'root', BASIC_AUTH_PASSWORD: '(set)', PORT: 1 });
    expect(JSON.stringify(shown)).not.toContain('hunter2');
    expect(shownSettings(configOf())['BASIC_AUTH_PASSWORD']).toBeNull();
  });
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
  const read = (env: Record<string, string>, argv: string[] = []) =>
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
    const result = read(env as Record<string, string>);
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
