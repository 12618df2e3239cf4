import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { changedLines, commitCount, lastCommit, managerState } from '../support/manager-state.ts';
import { suiteManager } from '../support/suite.ts';

/** With comments, spacing and quotes of a user's own, and without a line break at its end. */
const WEB_TEXT = `# The web server. Ask the shop team before you change it.
# Second line.

container_image: "nginx:1.26"   # pinned, see TICKET-1

starting_ports:
    - 80     # http
    - {'8443': "443"}
env_vars: {B: 'two', A: "one"} # in any order
running:    true

# the end`;
const WEB = '/api/v2/apps/web';
const FILE = 'desired-state/apps/web.yaml';

describe('docs/contract.md, 10.1: What is committed', () => {
  const suite = suiteManager({ files: { 'apps/web.yaml': WEB_TEXT } });

  it.each([
    [
      'an image',
      { container_image: 'nginx:1.27' },
      [
        '-container_image: "nginx:1.26"   # pinned, see TICKET-1',
        '+container_image: "nginx:1.27"   # pinned, see TICKET-1',
      ],
    ],
    ['a flag', { running: false }, ['-running:    true', '+running:    false']],
    [
      'an item of a list',
      { starting_ports: [81, { '8443': '443' }] },
      ['-    - 80     # http', '+    - 81     # http'],
    ],
    ['a removed item', { starting_ports: [81] }, ['-    - {\'8443\': "443"}']],
  ])(
    'the smallest edit of the one file: comments, order, quoting and untouched lines stay: %s',
    async (_, change, lines) => {
      const manager = suite();
      const { body: before } = await manager.get(WEB);
      const reply = await manager.put(`${WEB}/update`, change);
      expect(reply.status).toBe(202);
      expect(reply.body).toEqual({ ...before, ...change, app_id: before.app_id + 1 });
      expect(await changedLines(manager.repository, FILE)).toEqual(lines);
      expect((await lastCommit(manager.repository)).files).toEqual([`M ${FILE}`]);
      expect(await manager.repository.git('status', '--porcelain')).toBe('');
    },
  );

  it('the smallest edit: a new field leaves every line as it was', async () => {
    const manager = await startManager({ files: { 'apps/web.yaml': WEB_TEXT } });
    await manager.put(`${WEB}/update`, { privileged: true, volumes: ['/a:/b'] });
    const lines = await changedLines(manager.repository, FILE);
    // The last line has no line break, so git reports it as changed when something follows.
    const removed = lines.filter((line) => line.startsWith('-'));
    expect(removed.filter((line) => line !== '-# the end')).toEqual([]);
    expect(lines.join('\n')).toContain('+privileged: true');
    expect(await manager.repository.show(FILE)).toContain('# the end');
  });

  it('the smallest edit: CRLF line breaks stay', async () => {
    const text = '# web\r\ncontainer_image: nginx:1.26\r\nrunning: true # yes\r\n';
    const manager = await startManager({ files: { 'apps/web.yaml': text } });
    await manager.post(`${WEB}/stop`);
    expect(await manager.repository.show(FILE)).toBe(text.replace('running: true', 'running: false'));
  });

  it('a deleted app: also the groups that list it, in one commit', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.delete('/api/v2/apps/cron');
    expect((await lastCommit(manager.repository)).files).toEqual([
      'D desired-state/apps/cron.yaml',
      'M desired-state/device-groups/edge.yaml',
    ]);
    expect(await manager.repository.show('desired-state/device-groups/edge.yaml')).toBe('apps:\n  - web\n');
  });

  it('the files of the commit are in work tree and index, too', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.post('/api/v2/apps/new', { container_image: 'a' });
    await manager.put(`${WEB}/update`, { privileged: true });
    await manager.delete('/api/v2/apps/cron');
    expect(await manager.repository.git('status', '--porcelain')).toBe('');
    expect(await manager.repository.git('ls-files')).toBe(
      ['apps/new.yaml', 'apps/web.yaml', 'device-groups/edge.yaml']
        .map((path) => `desired-state/${path}`)
        .join('\n'),
    );
    expect(await manager.repository.git('fsck', '--strict')).toBe('');
  });

  it('the one file: edited where it is, also in a sub-folder and with the extension .yml', async () => {
    const files = {
      'apps/shop/eu/web.yml': 'container_image: nginx:1.26\n',
      'device-groups/north/edge.yml': 'apps: [web]\n',
    };
    const manager = await startManager({ files });
    await manager.post(`${WEB}/update`, { container_image: 'nginx:1.27' });
    expect((await lastCommit(manager.repository)).files).toEqual(['M desired-state/apps/shop/eu/web.yml']);
    await manager.put('/api/v2/device_groups/edge/update', { apps: [] });
    expect((await lastCommit(manager.repository)).files).toEqual([
      'M desired-state/device-groups/north/edge.yml',
    ]);
  });
});

describe('docs/contract.md, 10.1: New file', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it("New file's place: apps/<name>.yaml; only fields that differ from their default are written", async () => {
    await manager().post('/api/v2/apps/some', {
      container_image: 'some:1',
      running: true,
      privileged: true,
      networks: ['nebula', 'bridge'],
      env_vars: {},
      containers_per: { server: 1 },
      starting_ports: [80],
    });
    const text = await manager().repository.show('desired-state/apps/some.yaml');
    expect(
      text
        .split('\n')
        .filter((line) => /^\w/.test(line))
        .map((line) => line.split(':')[0]),
    ).toEqual(['container_image', 'starting_ports', 'privileged']);
  });

  it("New file's place: device-groups/<name>.yaml", async () => {
    await manager().post('/api/v2/device_groups/some', { apps: ['web'] });
    expect(await manager().repository.show('desired-state/device-groups/some.yaml')).toBe('apps:\n  - web\n');
  });
});

describe('docs/contract.md, 10.2: Author, committer', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it('author is the API user, committer is Holdfast; trailers Request-Id and Api-User', async () => {
    const headers = { 'x-request-id': 'change-4711' };
    await manager().put(`${WEB}/update`, { container_image: 'nginx:1.27' }, { headers });
    const commit = await lastCommit(manager().repository);
    expect(commit.author).toBe('operator <operator@holdfast.invalid>');
    expect(commit.committer).toMatch(/^Holdfast <.+>$/);
    expect(commit.trailers).toEqual(['Request-Id: change-4711', 'Api-User: operator']);
  });

  it('Request-Id: that of the reply, also if the client sent none or one that is unsafe in a trailer', async () => {
    for (const id of ['', 'x'.repeat(500), 'a b', 'a: b', '\u00e9']) {
      const headers = { 'x-request-id': id };
      const running = (await manager().get(WEB)).body.running;
      const reply = await manager().post(`${WEB}/${running ? 'stop' : 'start'}`, undefined, { headers });
      const inReply = reply.headers.get('x-request-id');
      expect(inReply).toMatch(/^[\w.:-]{1,64}$/);
      expect((await lastCommit(manager().repository)).trailers).toEqual([
        `Request-Id: ${inReply}`,
        'Api-User: operator',
      ]);
    }
  });

  it.each([
    ['another tag', { container_image: 'a/b:1.1' }, 'container_image 1.0 -> 1.1'],
    ['another image', { container_image: 'c:1.1' }, 'container_image a/b:1.0 -> c:1.1'],
    ['a flag', { running: false }, 'running true -> false'],
  ])('the subject names the change: %s', async (_, change, summary) => {
    await manager().post('/api/v2/apps/new', { container_image: 'a/b:1.0' });
    await manager().put('/api/v2/apps/new/update', change);
    expect((await lastCommit(manager().repository)).subject).toBe(`app new: ${summary}`);
    await manager().delete('/api/v2/apps/new');
    expect((await lastCommit(manager().repository)).subject).toBe('app new: delete');
  });

  it('the subject names env_vars without their values, which can be secret', async () => {
    await manager().put(`${WEB}/update`, { env_vars: { TOKEN: 'hunter2' } });
    expect((await lastCommit(manager().repository)).subject).toBe('app web: env_vars');
    expect(await manager().repository.git('log', '-1', '--format=%B')).not.toContain('hunter2');
  });

  it('author is the API user, with an e-mail that is configured', async () => {
    const settings = { BASIC_AUTH_EMAIL: 'ops@example.com' };
    const other = await startManager({ files: SMALL_FLEET, settings });
    await other.post(`${WEB}/stop`);
    expect((await lastCommit(other.repository)).author).toBe('operator <ops@example.com>');
  });

  it('author is the API user, also if the name has spaces and angle brackets', async () => {
    const settings = { BASIC_AUTH_USER: 'Jo <x@y> Doe', BASIC_AUTH_PASSWORD: 'p' };
    const other = await startManager({ files: SMALL_FLEET, settings });
    const authorization = `Basic ${Buffer.from('Jo <x@y> Doe:p').toString('base64')}`;
    expect((await other.post(`${WEB}/stop`, undefined, { authorization })).status).toBe(202);
    const commit = await lastCommit(other.repository);
    expect(commit.author).toMatch(/^Jo x@y Doe <[^<>]+@holdfast\.invalid>$/);
    expect(await other.repository.git('fsck', '--strict')).toBe('');
  });
});

describe('docs/contract.md, 10.1 and 10.3: How many commits', () => {
  it('one a write; many writes at once may share one push', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const names = Array.from({ length: 20 }, (_, index) => `many-${index}`);
    const replies = await Promise.all(
      names.map((name) => manager.post(`/api/v2/apps/${name}`, { container_image: name })),
    );
    expect(replies.map(({ status }) => status)).toEqual(names.map(() => 200));
    expect(await commitCount(manager.repository)).toBe(21);
    const subjects = (await manager.repository.git('log', '--format=%s', '-20')).split('\n');
    expect(subjects.sort()).toEqual(names.map((name) => `app ${name}: create`).sort());
    const sizes = await manager.repository.git('log', '-20', '--format=', '--name-only');
    expect(sizes.split('\n').filter(Boolean)).toHaveLength(20);
    expect(await manager.repository.git('status', '--porcelain')).toBe('');
  });

  it('without If-Match the last writer wins, field by field', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { body: before } = await manager.get(WEB);
    const changes = [
      { privileged: true },
      { rolling_restart: true },
      { running: false },
      { env_vars: { A: '1' } },
      { volumes: ['/a:/b'] },
    ];
    const replies = await Promise.all(changes.map((change) => manager.put(`${WEB}/update`, change)));
    expect(replies.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    const expected = Object.assign({}, before, ...changes, { app_id: before.app_id + 5 });
    expect((await manager.get(WEB)).body).toEqual(expected);
    expect(await commitCount(manager.repository)).toBe(6);
  });

  it('one commit for concurrent creates of one name: the other requests are 403', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const replies = await Promise.all(
      [1, 2, 3, 4].map((n) => manager.post('/api/v2/apps/one', { container_image: `one:${n}` })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403]);
    const created = replies.find(({ status }) => status === 200);
    expect((await manager.get('/api/v2/apps/one')).body).toEqual(created?.body);
    expect(await commitCount(manager.repository)).toBe(2);
  });

  it('concurrent deletes of apps and updates of groups that list them leave a valid fleet', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await Promise.all([
      manager.delete('/api/v2/apps/web'),
      manager.put('/api/v2/device_groups/edge/update', { apps: ['web'] }),
      manager.post('/api/v2/device_groups/two', { apps: ['web', 'cron'] }),
      manager.delete('/api/v2/apps/cron'),
    ]);
    const { apps, groups, status } = await managerState(manager);
    expect(apps).toEqual({});
    for (const group of Object.values(groups)) expect((group as { apps: string[] }).apps).toEqual([]);
    expect(status, 'uncommitted work').not.toMatch(/^[^#]/m);
    expect((await manager.get('/api/v2/reconcile')).body.problems).toEqual([]);
  });

  it('When the reply is sent: the commit is durable and applied', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const reply = await manager.put(`${WEB}/update`, { privileged: true });
    const head = await manager.repository.git('rev-parse', 'refs/heads/main');
    expect(reply.headers.get('holdfast-revision')).toBe(head);
    expect((await manager.get('/api/v2/reconcile')).body.revision_applied).toBe(head);
  });
});
