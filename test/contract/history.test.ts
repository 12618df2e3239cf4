import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it } from 'vitest';
import { inDesiredState } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import { startManager, type TestManager, USER } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';

const WEB = 'container_image: nginx:1.26\n';

interface Listed {
  n: number;
  kind: string;
  subject: string;
  revision: string | null;
}

async function list(manager: TestManager, query = ''): Promise<Listed[]> {
  const { status, body } = await manager.get(`/api/v2/history${query}`);
  expect(status).toBe(200);
  return body.entries;
}

const subjects = async (manager: TestManager, query = ''): Promise<string[]> =>
  (await list(manager, query)).map(({ subject }) => subject);

/** Waits until the older history is indexed. */
async function complete(manager: TestManager): Promise<void> {
  while (!(await manager.get('/api/v2/history')).body.complete);
}

describe('pull requests in the history of a clone', () => {
  it('have the address at the forge that the clone comes from', async () => {
    const repository = await testRepository();
    await repository.git('remote', 'add', 'origin', 'https://ana:secret@git.example/acme/fleet.git');
    await repository.commit(inDesiredState({ 'apps/web.yaml': WEB }), 'begin (#3)');
    const manager = await startManager({ repository });
    await complete(manager);
    const [entry] = (await manager.get('/api/v2/history')).body.entries;
    expect(entry.pull_request).toEqual({ number: 3, url: 'https://git.example/acme/fleet/pull/3' });
  });
});

describe('a commit of many large files', () => {
  it('is shown with the texts of the first, 2 MiB in all, and the names of the others', async () => {
    const repository = await testRepository();
    const manager = await startManager({ repository, files: { 'apps/web.yaml': WEB } });
    const before = await repository.git('rev-parse', 'main');
    const comment = `# ${'x'.repeat(60_000)}\n`;
    const names = Array.from({ length: 50 }, (_, index) => `apps/app-${index + 10}.yaml`);
    await repository.commit(inDesiredState(Object.fromEntries(names.map((name) => [name, comment + WEB]))));
    await manager.reconcile();
    await complete(manager);
    const [entry] = await list(manager);
    const pages = [`/api/v2/history/${entry?.n}`, `/api/v2/diff?from=${before}&to=main`];
    const replies = await Promise.all(pages.map((page) => manager.get(page)));
    for (const { status, body } of replies) {
      expect(status).toBe(200);
      expect(body.files.map(({ path }: { path: string }) => path)).toEqual(
        names.map((name) => `desired-state/${name}`),
      );
      const isLarge = body.files.map(({ too_large }: { too_large?: true }) => too_large === true);
      expect(isLarge).toEqual(names.map((_, index) => index > 34));
    }
  });
});

describe('GET /api/v2/history', () => {
  const suite = suiteManager(
    { files: { 'apps/web.yaml': WEB, 'apps/db.yaml': WEB, 'device-groups/lab.yaml': 'apps: [web]\n' } },
    async (manager) => {
      await manager.put('/api/v2/apps/web/update', { env_vars: { TOKEN: 'a-secret-value' } });
      const headers = { 'x-request-id': 'restart-1' };
      await manager.post('/api/v2/apps/web/restart?reason=the+till+hangs', undefined, { headers });
      const files = { 'desired-state/apps/db.yaml': 'container_image: nginx:1.27\n' };
      await manager.repository.commit(files, 'roll out the database (#12)');
      await manager.reconcile();
      await complete(manager);
    },
  );

  it('has commits and operations, newest first: who, why, and the ids that they gave', async () => {
    const { body } = await suite().get('/api/v2/history');
    expect(body).toMatchObject({ next: null, total: 4, complete: true, indexed_until: null });
    const [pushed, restart, written, first] = body.entries;
    expect(pushed).toMatchObject({
      n: 4,
      kind: 'commit',
      state: 'applied',
      actor: { name: 'Pat', email: 'pat@example.com', via: 'git' },
      subject: 'roll out the database (#12)',
      pull_request: { number: 12, url: null },
      changes: [{ object: 'app/db', change: 'update', fields: ['container_image'] }],
    });
    expect(restart).toMatchObject({
      kind: 'restart',
      revision: null,
      request_id: 'restart-1',
      reason: 'the till hangs',
      actor: { name: USER, via: 'api' },
      changes: [{ object: 'app/web', ids: { app_id: expect.any(Number) } }],
      effects: [{ app: 'web', action: 'restart', groups: ['lab'], devices: null }],
    });
    expect(written).toMatchObject({
      kind: 'commit',
      actor: { name: USER, via: 'api' },
      request_id: expect.any(String),
      changes: [{ object: 'app/web', change: 'update', fields: ['env_vars'] }],
    });
    expect(restart.changes[0].ids.app_id).toBe(written.changes[0].ids.app_id + 1);
    expect(first).toMatchObject({ n: 1, kind: 'commit', changes_total: 3 });
  });

  it('has the reason of an operation in its entry by itself and in the list of operations', async () => {
    const { body } = await suite().get('/api/v2/history?kind=restart');
    expect((await suite().get(`/api/v2/history/${body.entries[0].n}`)).body.reason).toBe('the till hangs');
    const { operations } = (await suite().get('/api/v2/operations')).body;
    expect(operations).toMatchObject([{ action: 'restart', reason: 'the till hangs' }]);
  });

  it.each<[query: string, subjects: string[]]>([
    ['object=app/web&kind=commit', ['app web: env_vars', 'the first fleet']],
    ['object=app/web&object=app/db&kind=restart,commit&page_size=1', ['roll out the database (#12)']],
    ['group=lab&kind=restart', ['app web: restart']],
    ['field=env_vars', ['app web: env_vars']],
    ['object=app/db&field=env_vars', []],
    [`actor=${USER}&kind=commit`, ['app web: env_vars']],
    ['actor=pat@example.com&q=DATABASE', ['roll out the database (#12)']],
    ['request_id=restart-1', ['app web: restart']],
    ['until=2001-01-01', []],
    ['since=2001-01-01&q=first', ['the first fleet']],
    ['after=2', ['the first fleet']],
  ])('selects by %s', async (query, found) => {
    expect(await subjects(suite(), `?${query}`)).toEqual(found);
  });

  it('selects by a revision, also by its first digits, and pages through the rest', async () => {
    const [pushed] = await list(suite());
    expect(await subjects(suite(), `?revision=${pushed?.revision?.slice(0, 8)}`)).toEqual([pushed?.subject]);
    const first = await suite().get('/api/v2/history?page_size=3');
    expect(first.body).toMatchObject({ next: '2', total: 4 });
    const second = await suite().get('/api/v2/history?page_size=3&after=2');
    expect(second.body).toMatchObject({ next: null, total: 4 });
    expect(second.body.entries.map(({ n }: Listed) => n)).toEqual([1]);
  });

  it.each([
    ['objects=app/web', 'objects'],
    ['object=web', 'object'],
    ['kind=push', 'kind'],
    ['since=yesterday', 'since'],
    ['until=2026-02-30', 'until'],
    ['q=%00', 'q'],
    ['page_size=0', 'page_size'],
    ['after=x', 'after'],
  ])('refuses ?%s', async (query, parameter) => {
    const { status, body } = await suite().get(`/api/v2/history?${query}`);
    expect({ status, names: Object.keys(body.invalid_parameters ?? {}) }).toEqual({
      status: 400,
      names: [parameter],
    });
  });

  it('refuses a revision that does not exist, and an expression of git', async () => {
    for (const revision of ['nowhere', 'main~1', 'abcdef12']) {
      const { status, body } = await suite().get(`/api/v2/history?revision=${revision}`);
      expect({ status, body }).toEqual({ status: 404, body: { revision_exists: false } });
    }
  });

  it('has one entry by its number and by its revision, with values and hunks', async () => {
    const [pushed] = await list(suite());
    const { body } = await suite().get('/api/v2/history/4');
    expect(body).toMatchObject({
      n: 4,
      message: 'roll out the database (#12)\n',
      gone: false,
      steps_total: 1,
      steps: [
        {
          kind: 'app',
          name: 'db',
          action: 'update',
          fields: ['container_image'],
          before: { container_image: 'nginx:1.26' },
          after: { container_image: 'nginx:1.27' },
        },
      ],
      files: [
        {
          path: 'desired-state/apps/db.yaml',
          hunks: [{ lines: ['-container_image: nginx:1.26', '+container_image: nginx:1.27'] }],
        },
      ],
    });
    for (const name of [pushed?.revision, pushed?.revision?.slice(0, 10), 'main'])
      expect((await suite().get(`/api/v2/history/${name}`)).body).toEqual(body);
    expect((await suite().get('/api/v2/history/3')).body).toMatchObject({
      kind: 'restart',
      message: null,
      steps: [],
      files: [],
    });
  });

  it.each([
    ['99', { entry_exists: false }],
    ['-99', { entry_exists: false }],
    ['nowhere', { revision_exists: false }],
  ])('is 404 for the entry %s', async (name, body) => {
    expect(await suite().get(`/api/v2/history/${name}`)).toMatchObject({ status: 404, body });
  });

  it('compares two revisions', async () => {
    const [pushed, , , first] = await list(suite());
    const { body } = await suite().get(`/api/v2/diff?from=${first?.revision}&to=${pushed?.revision}`);
    expect(body).toMatchObject({
      from: first?.revision,
      to: pushed?.revision,
      steps_total: 2,
      files_total: 2,
    });
    expect(body.steps.map(({ name, fields }: { name: string; fields: string[] }) => [name, fields])).toEqual([
      ['db', ['container_image']],
      ['web', ['env_vars']],
    ]);
    const back = await suite().get(`/api/v2/diff?from=main&to=${first?.revision}`);
    expect(back.body.steps[1]).toMatchObject({ name: 'web', after: { env_vars: {} } });
    expect(await suite().get('/api/v2/diff?from=main&to=nowhere')).toMatchObject({
      status: 404,
      body: { revision_exists: false },
    });
  });

  it('says which commit wrote each line of a file', async () => {
    const [, , written, first] = await list(suite());
    const { body } = await suite().get('/api/v2/blame/app/web');
    expect(body).toMatchObject({
      path: 'desired-state/apps/web.yaml',
      lines: [
        {
          text: 'container_image: nginx:1.26',
          revision: first?.revision,
          actor: { name: 'Pat', via: 'git' },
        },
        { text: 'env_vars:', revision: written?.revision, actor: { name: USER, via: 'api' } },
        { text: '  TOKEN: a-secret-value', revision: written?.revision },
      ],
    });
    const older = await suite().get(`/api/v2/blame/app/web?revision=${first?.revision}`);
    expect(older.body.lines).toHaveLength(1);
    expect(await suite().get('/api/v2/blame/app/nobody')).toMatchObject({
      status: 403,
      body: { app_exists: false },
    });
  });

  it('keeps no value of a field in the store', async () => {
    const db = new DatabaseSync(join(suite().dataFolder, 'store.sqlite'), { readOnly: true });
    const rows = (sql: string): Record<string, unknown>[] =>
      db.prepare(sql).all() as Record<string, unknown>[];
    const bodies = rows('SELECT body FROM entry_bodies').map(({ body }) =>
      inflateRawSync(body as Uint8Array).toString(),
    );
    const others = rows('SELECT body FROM acts UNION ALL SELECT text FROM entries');
    db.close();
    expect(bodies.join()).toContain('"subject":"app web: env_vars"');
    expect([...bodies, JSON.stringify(others)].join()).not.toContain('a-secret-value');
  });

  it('is not for devices', async () => {
    expect(await suite().get('/api/v2/history', { authorization: null })).toMatchObject({ status: 401 });
  });
});

describe('the history of a manager', () => {
  it('is the same after a restart, and is indexed again after the store was lost', async () => {
    const manager = await startManager({ files: { 'apps/web.yaml': WEB } });
    await manager.put('/api/v2/apps/web/update', { container_image: 'nginx:1.27' });
    await complete(manager);
    const before = await list(manager);
    const again = await manager.restart();
    await complete(again);
    expect(await list(again)).toEqual(before);
    await again.stop();
    const lost = await startManager({ repository: manager.repository });
    await complete(lost);
    expect((await list(lost)).map(({ n, revision }) => [n, revision])).toEqual([
      [1, before[0]?.revision],
      [0, before[1]?.revision],
    ]);
  });

  it('is complete if the branch has no commit, and not before the first one is applied', async () => {
    const manager = await startManager({ settings: { STRICT: 'true' } });
    expect((await manager.get('/api/v2/history')).body).toMatchObject({ entries: [], complete: true });
    await manager.repository.commit({ 'desired-state/apps/web.yaml': '[' });
    await manager.reconcile();
    const { body } = await manager.get('/api/v2/history?kind=commit,switch');
    expect(body).toMatchObject({ entries: [], complete: false, indexed_until: null });
    await manager.repository.commit({ 'desired-state/apps/web.yaml': WEB });
    await manager.reconcile();
    await complete(manager);
    expect((await list(manager)).map(({ kind }) => kind)).toEqual(['commit', 'refused', 'commit']);
  });
});
