import { describe, expect, it } from 'vitest';
import { type ManagerSources, managerAt, managerToAsk } from '../../src/cli/manager/ask.ts';

const FILE = '/home/ana/.config/holdfast.yaml';
const A = 'https://a.example';
const B = 'https://b.example';

interface Given {
  env?: Record<string, string>;
  files?: Record<string, string>;
  mode?: number;
}

/** What a command has of its process; all files have the same permissions. */
function sources({ env = {}, files = {}, mode = 0o100600 }: Given): ManagerSources {
  return {
    env: { HOME: '/home/ana', ...env },
    readFile: (path) => files[path] ?? fail('ENOENT'),
    fileMode: () => mode,
  };
}

function fail(code: string): never {
  throw Object.assign(new Error('secret-path'), { code });
}

/** Address and header, and where the credentials came from. */
function ask(options: Record<string, string>, given: Given) {
  const manager = managerToAsk(options, sources(given));
  if (manager === null) return null;
  const { authorization = null, from = null } = manager.credentials ?? {};
  const decoded = authorization?.replace(/^Basic (.*)$/, (_, text) => `Basic ${atob(text)}`) ?? null;
  return [manager.base, decoded, from];
}

describe('the manager that a command asks', () => {
  const env = { HOLDFAST: A, CREDENTIALS: 'ana:env' };
  const files = { [FILE]: `server: ${A}\ncredentials: ana:file\n`, '/token': 'flag-token\n' };

  it.each<[string, Record<string, string>, Given, ReturnType<typeof ask>]>([
    ['is none if none is named', {}, {}, null],
    ['is that of HOLDFAST', {}, { env }, [A, 'Basic ana:env', 'CREDENTIALS']],
    [
      'is that of --server before HOLDFAST',
      { server: `${B}/` },
      { env },
      [B, 'Basic ana:env', 'CREDENTIALS'],
    ],
    ['is that of the file without HOLDFAST', {}, { files }, [A, 'Basic ana:file', FILE]],
    ['is that of HOLDFAST before the file', {}, { files, env: { HOLDFAST: B } }, [B, null, null]],
    ['is none with --desired-state', { 'desired-state': 'x' }, { env, files }, null],
    ['is none where HOLDFAST is empty', {}, { env: { HOLDFAST: '' } }, null],
    [
      'knows the token of --token-file before all else',
      { 'token-file': '/token' },
      { files, env: { ...env, HOLDFAST_TOKEN: 'env-token' } },
      [A, 'Bearer flag-token', '--token-file'],
    ],
    [
      'knows HOLDFAST_TOKEN before CREDENTIALS',
      {},
      { env: { ...env, HOLDFAST_TOKEN: 'env-token' } },
      [A, 'Bearer env-token', 'HOLDFAST_TOKEN'],
    ],
    ['knows CREDENTIALS before the file', {}, { files, env }, [A, 'Basic ana:env', 'CREDENTIALS']],
    [
      'knows the file where only the address is elsewhere',
      {},
      { files, env: { HOLDFAST: `${A}/` } },
      [A, 'Basic ana:file', FILE],
    ],
    ['does not get what the file has for another server', { server: B }, { files }, [B, null, null]],
    [
      'does not get what the file has for another port',
      { server: `${A}:8443` },
      { files },
      [`${A}:8443`, null, null],
    ],
    [
      'gets what a file without a server has',
      { server: B },
      { files: { [FILE]: 'credentials: "ana:a:b"\n' } },
      [B, 'Basic ana:a:b', FILE],
    ],
    [
      'knows the token beside the file',
      {},
      { files: { [FILE]: `server: ${A}\ntoken_file: token\n`, '/home/ana/.config/token': 'hft_1\n' } },
      [A, 'Bearer hft_1', FILE],
    ],
    [
      'knows the token in the home folder',
      {},
      { files: { [FILE]: `server: ${A}\ntoken_file: ~/token\n`, '/home/ana/token': 'hft_2' } },
      [A, 'Bearer hft_2', FILE],
    ],
    [
      'is that of the file below XDG_CONFIG_HOME',
      {},
      { env: { XDG_CONFIG_HOME: '/x' }, files: { ...files, '/x/holdfast.yaml': `server: ${B}\n` } },
      [B, null, null],
    ],
    ['is none with an empty file', {}, { files: { [FILE]: '# nothing yet\n' } }, null],
    [
      'needs no file that is bad where all is said without it',
      {},
      { env, files: { [FILE]: 'server: [' } },
      [A, 'Basic ana:env', 'CREDENTIALS'],
    ],
    [
      'may be named in a file that others can read',
      {},
      { files: { [FILE]: `server: ${A}\n` }, mode: 0o100644 },
      [A, null, null],
    ],
  ])('%s', (_, options, given, expected) => {
    expect(ask(options, given)).toEqual(expected);
  });

  it('knows the variable or the file that names it', () => {
    const namedBy = (options: Record<string, string>, given: Given): unknown =>
      managerToAsk(options, sources(given))?.namedBy;
    expect([
      namedBy({}, { env, files }),
      namedBy({}, { files }),
      namedBy({ server: B }, { env, files }),
    ]).toEqual(['HOLDFAST', FILE, null]);
  });

  it('has the credentials of its own address, however that was given', () => {
    const { credentials } = managerAt(A, {}, sources({ files }));
    expect(credentials?.from).toBe(FILE);
    expect(managerAt(B, {}, sources({ files })).credentials).toBeNull();
  });
});

describe('a wrong address or wrong credentials are refused, by their place and without their value:', () => {
  const file = (text: string): Given => ({ files: { [FILE]: text } });

  it.each<[string, Record<string, string>, Given, string]>([
    ['an address without http', {}, { env: { HOLDFAST: 'hush:8080' } }, 'HOLDFAST must be the http://'],
    ['an address with a password', { server: 'http://u:hush@a' }, {}, '--server must be the http://'],
    [
      'CREDENTIALS without a user',
      {},
      { env: { HOLDFAST: A, CREDENTIALS: ':hush' } },
      'CREDENTIALS: credentials',
    ],
    [
      'a token of two lines',
      {},
      { env: { HOLDFAST: A, HOLDFAST_TOKEN: 'hush\nhush' } },
      'HOLDFAST_TOKEN must have',
    ],
    [
      'a token file that is empty',
      { server: A, 'token-file': '/t' },
      { files: { '/t': '\n' } },
      '--token-file (/t) is empty',
    ],
    [
      'a token file that is not there',
      { server: A, 'token-file': '/t' },
      {},
      '--token-file: /t cannot be read: ENOENT',
    ],
    ['a token file without a manager', { 'token-file': '/t' }, {}, '--token-file is for a manager'],
    ['--server with --desired-state', { server: A, 'desired-state': 'x' }, {}, 'give one of them'],
    ['a file that is no YAML', {}, file('server: a\n\thush: b\n'), `${FILE}:2:1: `],
    [
      'a file that is a list',
      {},
      file('- hush\n'),
      `${FILE}:1:1: must have the members server, credentials, token_file`,
    ],
    [
      'an unknown member',
      {},
      file(`server: ${A}\ntoken-file: hush\n`),
      `${FILE}:2:1: "token-file" is no member of this file; did you mean token_file?`,
    ],
    [
      'a member that is no text',
      {},
      file(`server: ${A}\ncredentials: {user: hush}\n`),
      `${FILE}:2:1: credentials must be a text`,
    ],
    ['a server without http', {}, file('server: hush.example\n'), `${FILE}:1:1: server must be the http://`],
    [
      'credentials and a token',
      {},
      file(`credentials: a:hush\ntoken_file: t\nserver: ${A}\n`),
      `${FILE}:2:1: credentials and token_file cannot both`,
    ],
    [
      'credentials without a user',
      {},
      file(`server: ${A}\ncredentials: hush\n`),
      `${FILE}:2:1: credentials must be user:password`,
    ],
    [
      'a token file that is not there, in the file',
      {},
      file(`server: ${A}\ntoken_file: t\n`),
      `${FILE}:2:1: /home/ana/.config/t cannot be read: ENOENT`,
    ],
    [
      'credentials that others can read',
      {},
      { ...file(`server: ${A}\ncredentials: a:hush\n`), mode: 0o100640 },
      `${FILE}:2:1: other users of this machine can read these credentials, so they are not used; change that with: chmod 600 ${FILE}`,
    ],
  ])('%s', (_, options, given, message) => {
    let error: unknown;
    try {
      managerToAsk(options, sources(given));
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ name: 'UsageError', message: expect.stringContaining(message) });
    expect((error as Error).message).not.toContain('hush');
  });
});
