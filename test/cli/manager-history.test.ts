import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type CommandResult, runCli } from '../support/command.ts';
import { inDesiredState, temporaryFolder } from '../support/folder.ts';
import { PASSWORD, type TestManager, USER } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';

const CREDENTIALS = `${USER}:${PASSWORD}`;
const WEB = 'container_image: nginx:1.26\n';

/** Runs a command that asks a manager through the environment. */
function ask(HOLDFAST: string, ...args: string[]): Promise<CommandResult> {
  return runCli(args, { env: { HOLDFAST, CREDENTIALS } });
}

/** Waits until the older history is indexed. */
async function complete(manager: TestManager): Promise<void> {
  while (!(await manager.get('/api/v2/history')).body.complete);
}

/** Without what depends on the zone of the machine and on random ids. */
const withoutTimes = (text: string): string =>
  text
    .replace(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'TIME')
    .replace(/(Request:|Request-Id:) \S+/g, '$1 ID')
    .replace(/\b[0-9a-f]{40}\b|\b[0-9a-f]{12}\b/g, 'COMMIT')
    .replace(/from [0-9a-f]{10} to [0-9a-f]{10}/, 'from A to B')
    .replace(/_id \d+/g, '_id N');

/** Starts a server that gives one reply to every request, and resolves to its address, what stops it, and the credentials that it got. */
async function serveReply(
  status: number,
  text: string,
  headers: Record<string, string> = {},
): Promise<{ address: string; stop: () => Promise<void>; received: (string | undefined)[] }> {
  const received: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    received.push(request.headers.authorization);
    response.writeHead(status, headers).end(text);
  });
  const stop = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(stop);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop, received };
}

describe('with a manager to ask', () => {
  const suite = suiteManager(
    { files: { 'apps/web.yaml': WEB, 'apps/db.yaml': WEB, 'device-groups/lab.yaml': 'apps: [web]\n' } },
    async (manager) => {
      await manager.put('/api/v2/apps/web/update', { env_vars: { MODE: 'fast' } });
      await manager.post('/api/v2/apps/web/restart');
      await manager.repository.git('rm', '--quiet', '-r', 'desired-state');
      await manager.repository.git('commit', '--quiet', '-m', 'lose everything');
      await manager.reconcile();
      await manager.repository.git('revert', '--no-edit', 'HEAD');
      await manager.reconcile();
      await manager.repository.git('commit', '--quiet', '--amend', '-m', 'bring it back (#12)');
      await manager.reconcile();
      await complete(manager);
    },
  );
  const address = (): string => suite().service.address;

  it('history lists commits, operations and refusals, with who did it and the ids that it gave', async () => {
    const { code, out, err } = await ask(address(), 'history');
    expect([code, err]).toEqual([0, '']);
    expect(withoutTimes(out)).toBe(`COMMIT  TIME  bring it back (#12)  Pat
    + app db
    + app web
    + device group lab
6             TIME  branch main: rewrite from A to B  Pat
COMMIT  TIME  Revert "lose everything"  Pat
    + app db
    + app web
    + device group lab
COMMIT  TIME  lose everything (superseded)  Pat
    - app db
    - app web
    - device group lab
3             TIME  app web: restart  operator
    ~ app web (app_id N)
COMMIT  TIME  app web: env_vars  operator
    ~ app web: env_vars (app_id N)
COMMIT  TIME  the first fleet  Pat
    + app db (app_id N)
    + app web (app_id N)
    + device group lab (device_group_id N, prune_id N)
`);
  });

  it('history asks for one object, no more than --limit, and what is younger than --since', async () => {
    const { out, err } = await ask(address(), 'history', 'device_group/lab', '--limit', '2');
    expect(out.match(/ {2}(?:bring|branch main: rewrite|Revert|app web|the first)/g)).toEqual([
      '  bring',
      '  Revert',
    ]);
    expect(err).toContain('There are older ones: --limit 4');
    const young = await ask(address(), 'history', '--since', '2100-01-01');
    expect([young.code, young.out, young.err]).toEqual([
      0,
      '',
      'Nothing changed the fleet since 2100-01-01 00:00.\n',
    ]);
  });

  it('history --format json has the entries of the manager as they are', async () => {
    const { body } = await suite().get('/api/v2/history');
    const { out } = await ask(`${address()}/`, 'history', '--format', 'json');
    expect(JSON.parse(out)).toEqual({ entries: body.entries, complete: true, indexed_until: null });
  });

  it('show has a commit with its values and ids, by its short id', async () => {
    const { entries } = (await suite().get('/api/v2/history?field=env_vars')).body;
    const { code, out } = await ask(address(), 'show', entries[0].revision.slice(0, 9));
    expect(code).toBe(0);
    expect(withoutTimes(out)).toBe(`commit COMMIT
Author:  operator (through the API)
Date:    TIME
State:   applied TIME
Ids:     app web: app_id N
Request: ID

    app web: env_vars

    Request-Id: ID
    Api-User: operator

~ app web  (desired-state/apps/web.yaml)
    env_vars:
+     MODE: fast

On devices:
  web restarts on lab

1 object changed.
`);
  });

  it('show has an operation, by its number', async () => {
    const { n } = (await suite().get('/api/v2/history?kind=restart')).body.entries[0];
    const { code, out } = await ask(address(), 'show', String(n));
    expect(code).toBe(0);
    expect(withoutTimes(out)).toBe(`entry 3
Author:  operator (through the API)
Date:    TIME
Ids:     app web: app_id N
Request: ID

    app web: restart

~ app web

On devices:
  web restarts on lab

1 object changed.
`);
  });

  it('show --format json has steps as without a manager, and the rest as the manager has it', async () => {
    const { out } = await ask(address(), 'show', 'main', '--format', 'json');
    const { kind, subject, pull_request } = (await suite().get('/api/v2/history/main')).body;
    expect(JSON.parse(out)).toMatchObject({ kind, subject, pull_request, problems: [] });
    expect(JSON.parse(out).steps[0]).toMatchObject({
      operation: 'create',
      file: 'desired-state/apps/db.yaml',
      before: null,
    });
  });

  it('asks the manager of --server, and reads git with --desired-state', async () => {
    const { out } = await runCli(['history', '--server', address()], {
      env: { CREDENTIALS, HOLDFAST: 'http://127.0.0.1:1' },
    });
    expect(out).toContain('app web: restart');
    const folder = join(suite().repository.folder, 'desired-state');
    const offline = await ask(address(), 'history', '--desired-state', folder);
    expect(offline.out).not.toContain('app web: restart');
    expect(offline.out).toContain('bring it back');
  });

  it.each<[string, string[], Record<string, string>, number, RegExp]>([
    [
      'an unknown commit',
      ['show', 'abcdef123'],
      {},
      2,
      /"abcdef123" is no number, commit, branch or tag that http\S+ \(HOLDFAST\) knows/,
    ],
    [
      'an object that never was',
      ['history', 'app/wbe'],
      {},
      2,
      /the history of http\S+ \(HOLDFAST\) has no app\/wbe; did you mean app\/web\?/,
    ],
    ['an unknown number', ['show', '999999'], {}, 2, /"999999" is no number/],
    [
      'no credentials',
      ['history'],
      { CREDENTIALS: '' },
      3,
      /history\S+ \(HOLDFAST\) answered 401; set credentials in CREDENTIALS/,
    ],
    [
      'wrong credentials',
      ['show', 'main'],
      { CREDENTIALS: 'operator:wrong' },
      3,
      /answered 401; it rejects the credentials of CREDENTIALS\n/,
    ],
    [
      'credentials without a user',
      ['history'],
      { CREDENTIALS: 'secret' },
      2,
      /CREDENTIALS: credentials must be user:password/,
    ],
    ['both places', ['history', '--server', 'http://a', '--desired-state', 'b'], {}, 2, /give one of them/],
    ['an address without http', ['history'], { HOLDFAST: 'manager:8080' }, 2, /HOLDFAST must be the http/],
    [
      'an address with a password',
      ['history', '--server', 'http://u:secret@a'],
      {},
      2,
      /--server must be the http/,
    ],
  ])('refuses %s', async (_, args, env, exit, message) => {
    const { code, out, err } = await runCli(args, { env: { HOLDFAST: address(), CREDENTIALS, ...env } });
    expect([code, out]).toEqual([exit, '']);
    expect(err).toMatch(message);
    expect(err).not.toMatch(/secret|wrong|correct horse/);
  });
});

describe('show', () => {
  const suite = suiteManager({ files: { 'apps/web.yaml': WEB, 'device-groups/lab.yaml': 'apps: [web]\n' } });
  const change = (message: string, files: Record<string, string | null>): Promise<string> =>
    suite().repository.commit(inDesiredState(files), message);

  it('says of a commit from git what it says from a manager, but for state, ids and request', async () => {
    await change('web 1.27 (#7)\n\nSince 1.26 is old.\n\nCo-authored-by: Ana <ana@example.com>', {
      'apps/web.yaml': 'container_image: nginx:1.27\nenv_vars: {MODE: fast}\n',
      'apps/db.yaml': 'container_image: [\n',
    });
    await change('say why', {
      'apps/web.yaml': '# fast, for the shop\ncontainer_image: nginx:1.27\nenv_vars: {MODE: fast}\n',
      'notes.md': 'read me\n',
    });
    const moved = 'env_vars: {MODE: fast}\ncontainer_image: nginx:1.27\n';
    await change('move', { 'apps/web.yaml': null, 'apps/shop/web.yaml': moved });
    await change('drop the group', { 'device-groups/lab.yaml': null });
    for (let back = 0; back < 5; back++) {
      await suite().reconcile();
      const revision = await suite().repository.git('rev-parse', `HEAD~${back}`);
      const folder = join(suite().repository.folder, 'desired-state');
      const git = await runCli(['show', revision, '--desired-state', folder]);
      const manager = await ask(suite().service.address, 'show', revision);
      // Where a file is not valid, the manager says that by the state.
      const ofGit = git.out.replace(/ \(not valid\)|, 1 of them with a file that is not valid/g, '');
      const common = manager.out.replace(/^(?:State|Ids|Request): .*\n/gm, '');
      expect(ofGit.replaceAll(`${suite().repository.folder}/`, '')).toBe(common);
    }
  });
});

describe('history and show know a manager', () => {
  it("from the user's file, and send its token there", async () => {
    const { address, received } = await serveReply(503, '');
    const home = await temporaryFolder();
    await mkdir(join(home, '.config'));
    await writeFile(join(home, '.config/holdfast.yaml'), `server: ${address}\ntoken_file: token\n`);
    await writeFile(join(home, '.config/token'), 'hft_1\n');
    for (const args of [['history'], ['show', 'main']]) await runCli(args, { env: { HOME: home } });
    expect(received).toEqual(['Bearer hft_1', 'Bearer hft_1']);
  });
});

describe('history and show say what is wrong with a manager', () => {
  it.each<[string, number, string, RegExp]>([
    [
      'that is older and has no history',
      404,
      '{"message": "Not Found"}',
      /404; it is not Holdfast, or it is an older version/,
    ],
    [
      'that does not let the account read',
      403,
      '{"access_allowed": false}',
      /403; that account may not read it/,
    ],
    ['that is none', 200, '<html>', /is not the response of a manager with API v2/],
    ['that has other JSON', 200, '{"entries": 1}', /is not the response of a manager with API v2/],
    ['that fails', 503, '', /answered 503/],
  ])('%s', async (_, status, text, message) => {
    const { address } = await serveReply(status, text);
    for (const args of [['history'], ['show', 'main']]) {
      const { code, out, err } = await ask(address, ...args);
      expect([code, out]).toEqual([3, '']);
      expect(err).toMatch(message);
    }
  });

  it('that is not there', async () => {
    const { address, stop } = await serveReply(200, '');
    await stop();
    const { code, out, err } = await ask(address, 'history');
    const advice = 'with --desired-state FOLDER, no manager is asked';
    const message = `holdfast: ${address} (HOLDFAST) cannot be reached: ECONNREFUSED; ${advice}\n`;
    expect([code, out, err]).toEqual([3, '', message]);
    const named = await runCli(['history', '--server', address]);
    expect(named.err).toBe(`holdfast: ${address} cannot be reached: ECONNREFUSED\n`);
  });

  it('that redirects, and sends nothing to the other one', async () => {
    const other = await serveReply(200, '{}');
    const { address, received } = await serveReply(307, '', { location: other.address });
    const { code, err } = await ask(address, 'history');
    expect([code, err]).toEqual([3, expect.stringContaining(`redirects to ${other.address}`)]);
    expect([received.length, other.received]).toEqual([1, []]);
  });

  it('that redirects, without the password of the other address', async () => {
    const { address } = await serveReply(302, '', { location: 'https://u:secret@other.example/' });
    const { code, err } = await ask(address, 'history');
    expect([code, err]).toEqual([
      3,
      expect.stringMatching(/302, and redirects to https:\/\/other\.example\//),
    ]);
  });
});
