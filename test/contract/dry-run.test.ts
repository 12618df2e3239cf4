import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { expectNothingWritten, expectRefused, lastCommit } from '../support/manager-state.ts';
import { suiteManager } from '../support/suite.ts';

const WEB = '/api/v2/apps/web';
const IMAGE = { container_image: 'nginx:2' };

/** A write, the subject of its preview, and the effects of it. */
type Row = [method: string, path: string, body: unknown, subject: string | null, effects: unknown[]];

const restarts = (...groups: string[]) => ({ app: 'web', action: 'restart', groups, devices: null });

const ROWS: Row[] = [
  ['POST', '/api/v2/apps/new', IMAGE, 'app new: create', []],
  ['POST', `${WEB}/update`, IMAGE, 'app web: container_image 1.26 -> 2, starting_ports', [restarts('edge')]],
  ['PUT', `${WEB}/update`, IMAGE, 'app web: container_image 1.26 -> 2', [restarts('edge')]],
  ['PATCH', `${WEB}/update`, { running: true }, null, []],
  [
    'POST',
    `${WEB}/stop`,
    undefined,
    'app web: running true -> false',
    [{ ...restarts('edge'), action: 'stop' }],
  ],
  [
    'POST',
    '/api/v2/apps/cron/start',
    undefined,
    'app cron: running false -> true',
    [{ ...restarts('edge'), app: 'cron', action: 'start' }],
  ],
  [
    'POST',
    '/api/v2/apps/cron/restart',
    undefined,
    'app cron: running false -> true',
    [{ ...restarts('edge'), app: 'cron', action: 'start' }],
  ],
  ['POST', `${WEB}/restart`, undefined, 'app web: restart', [restarts('edge')]],
  ['DELETE', WEB, undefined, 'app web: delete', [{ ...restarts('edge'), action: 'stop' }]],
  [
    'POST',
    '/api/v2/device_groups/lab',
    { apps: ['web'] },
    'device group lab: create',
    [{ ...restarts('lab'), action: 'start' }],
  ],
  ['PUT', '/api/v2/device_groups/edge/update', { apps: ['web'] }, 'device group edge: remove cron', []],
  [
    'DELETE',
    '/api/v2/device_groups/edge',
    undefined,
    'device group edge: delete',
    [{ ...restarts('edge'), action: 'stop' }],
  ],
  ['POST', '/api/v2/device_groups/edge/prune', undefined, 'device group edge: prune', []],
  ['POST', '/api/v2/prune', undefined, 'prune all device groups', []],
];

describe('docs/contract.md, 10.6: a write with dry_run=true', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it.each<Row>(ROWS)('is shown, and not made: %s %s %j', async (method, path, body, subject, effects) => {
    const { id: base } = await lastCommit(manager().repository);
    const { status, body: shown } = await expectNothingWritten(manager(), () =>
      manager().request(method, `${path}?dry_run=true`, { body }),
    );
    expect([status, shown.base, shown.subject, shown.effects]).toEqual([200, base, subject, effects]);
    expect(shown.problems).toEqual([]);
  });

  it('shows files with their hunks, and steps with their content before and after', async () => {
    const { body: shown } = await manager().put(`${WEB}/update?dry_run=true`, IMAGE);
    const text = SMALL_FLEET['apps/web.yaml'];
    const file = {
      path: 'desired-state/apps/web.yaml',
      before: text,
      after: text.replace('1.26', '2'),
      hunks: [
        {
          old_start: 1,
          old_lines: 3,
          new_start: 1,
          new_lines: 3,
          lines: [
            ' # the web server',
            '-container_image: nginx:1.26',
            '+container_image: nginx:2',
            ' starting_ports: [80]',
          ],
        },
      ],
    };
    expect(shown.files).toEqual([file]);
    expect(shown.steps).toMatchObject([
      {
        kind: 'app',
        name: 'web',
        action: 'update',
        fields: ['container_image'],
        before: { container_image: 'nginx:1.26' },
        after: { container_image: 'nginx:2' },
      },
    ]);
  });

  it('shows a new file as one hunk of added lines', async () => {
    const { body: shown } = await manager().post('/api/v2/apps/new?dry_run=true', IMAGE);
    expect(shown.files).toEqual([
      {
        path: 'desired-state/apps/new.yaml',
        before: null,
        after: 'container_image: nginx:2\n',
        hunks: [
          { old_start: 0, old_lines: 0, new_start: 1, new_lines: 1, lines: ['+container_image: nginx:2'] },
        ],
      },
    ]);
    expect(shown.steps[0]).toMatchObject({ action: 'create', fields: [], before: null });
  });

  it.each<[string, number, string, string, unknown, Record<string, string>]>([
    ['an unknown app', 403, 'DELETE', '/api/v2/apps/ghost', undefined, {}],
    ['a body without an image', 400, 'POST', '/api/v2/apps/new', {}, {}],
    ['an If-Match that does not hold', 412, 'PUT', `${WEB}/update`, IMAGE, { 'if-match': '"9"' }],
    ['an If-Match of a restart', 412, 'POST', `${WEB}/restart`, undefined, { 'if-match': '"9"' }],
    ['an unknown app in a list', 403, 'POST', '/api/v2/device_groups/lab', { apps: ['ghost'] }, {}],
    ['an unknown base', 404, 'PUT', `${WEB}/update`, IMAGE, { 'holdfast-base': 'f'.repeat(40) }],
  ])('is refused as the write is: %s is %i', async (_, status, method, path, body, headers) => {
    const replies = [];
    for (const query of ['', '?dry_run=true']) {
      const send = () => manager().request(method, path + query, { body, headers });
      replies.push((await expectRefused(manager(), status, send)).body);
    }
    expect(replies[1]).toEqual(replies[0]);
  });

  it.each(['maybe', '', 'TRUE', '1'])('is 400 invalid_parameters if the value is "%s"', async (value) => {
    const send = () => manager().delete(`${WEB}?dry_run=${value}`);
    const reply = await expectRefused(manager(), 400, send);
    expect(reply.body.invalid_parameters.dry_run).toMatch(/must be true or false/);
  });
});

describe('a problem of the repository', () => {
  it('that blocks a write also blocks its preview, and one of another object is shown', async () => {
    const manager = await startManager({
      files: {
        ...SMALL_FLEET,
        'device-groups/edge.yaml': 'apps: [web, ghost]\n',
        'apps/bad.yaml': '[\n',
      },
    });
    const blocked = await manager.put('/api/v2/apps/bad/update?dry_run=true', { running: false });
    expect([blocked.status, blocked.body.problems[0].file]).toEqual([409, 'apps/bad.yaml']);
    const shown = await manager.post('/api/v2/apps/ghost2?dry_run=true', IMAGE);
    expect([shown.status, shown.body.problems]).toEqual([200, []]);
    const deleted = await manager.put(`${WEB}/update?dry_run=true`, IMAGE);
    expect(deleted.body.problems).toMatchObject([{ file: 'device-groups/edge.yaml', code: 'app-unknown' }]);
  });
});

describe('a port that two apps of a group would take', () => {
  it('is a warning in the preview, which does not block the write', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const change = { starting_ports: [80], running: true };
    const shown = await manager.put('/api/v2/apps/cron/update?dry_run=true', change);
    expect(shown.body.problems).toMatchObject([
      { file: 'device-groups/edge.yaml', code: 'port-conflict', severity: 'warning' },
    ]);
    expect((await manager.put('/api/v2/apps/cron/update', change)).status).toBe(202);
  });
});

describe('docs/contract.md, 10.4: Holdfast-Base', () => {
  const write = (base: string) => ({ headers: { 'holdfast-base': base } });

  it('binds a write to its preview while other objects change', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { body: shown } = await manager.put(`${WEB}/update?dry_run=true`, IMAGE);
    await manager.put('/api/v2/apps/cron/update', { container_image: 'cron:4' });
    const reply = await manager.put(`${WEB}/update`, IMAGE, write(shown.base));
    expect(reply.status).toBe(202);
    expect(await manager.repository.show(shown.files[0].path)).toBe(shown.files[0].after);
    expect((await lastCommit(manager.repository)).subject).toBe(shown.subject);
  });

  it.each<[string, string, string, unknown]>([
    ['of the app itself', 'PUT', `${WEB}/update`, IMAGE],
    ['of the app of a restart', 'POST', `${WEB}/restart`, undefined],
  ])('is 412 after a change %s', async (_, method, path, body) => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { id: base } = await lastCommit(manager.repository);
    await manager.put(`${WEB}/update`, { container_image: 'nginx:3' });
    const send = () => manager.request(method, path, { body, ...write(base.slice(0, 12)) });
    expect((await expectRefused(manager, 412, send)).body.error).toContain('app/web has changed since');
  });

  it('is 412 after a change of a group that a deleted app would leave', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { id: base } = await lastCommit(manager.repository);
    await manager.put('/api/v2/device_groups/edge/update', { apps: ['cron', 'web'] });
    await expectRefused(manager, 412, () => manager.delete(WEB, write(base)));
  });

  it('is 404 if it is an expression of git, unknown or empty', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    for (const base of ['HEAD~1', 'HEAD', 'main^', 'nowhere', 'HEAD@{0}', '']) {
      const reply = await expectRefused(manager, 404, () => manager.delete(WEB, write(base)));
      expect(reply.body, base).toEqual({ revision_exists: false });
    }
  });

  it('can be a branch', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    expect((await manager.delete(WEB, write('main'))).status).toBe(200);
  });
});

async function fileOf(text: string): Promise<string> {
  const path = join(await temporaryFolder(), 'message');
  await writeFile(path, text);
  return path;
}

describe('the reason of a write', () => {
  it('is in the body of the commit message, and that of an operation in the log', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const query = `?reason=${encodeURIComponent('the till\nAllow-Empty: true')}`;
    await manager.put(`${WEB}/update${query}`, IMAGE);
    const message = await manager.repository.git('log', '-1', '--format=%B');
    expect(message).toMatch(
      /^app web: .*\n\nthe till\nAllow-Empty: true\n\nRequest-Id: .*\nApi-User: operator\n*$/,
    );
    expect((await lastCommit(manager.repository)).trailers.map((line) => line.split(':')[0])).toEqual([
      'Request-Id',
      'Api-User',
    ]);
    await manager.post('/api/v2/prune?reason=full+disks');
    expect(manager.log).toContainEqual(expect.objectContaining({ reason: 'full disks', msg: 'reason' }));
  });

  it.each(['--- a/file', '---', '# ------------------------ >8 ------------------------'])(
    'hides the trailers after it from none of git’s own tools: %s',
    async (line) => {
      const manager = await startManager({ files: SMALL_FLEET });
      const reason = `first\n${line}\nlast`;
      const message = { message: line, reason, changes: [{ op: 'delete', kind: 'app', name: 'cron' }] };
      await manager.put(`${WEB}/update?reason=${encodeURIComponent(reason)}`, IMAGE);
      await manager.post('/api/v2/changes', message);
      for (const commit of ['HEAD', 'HEAD~']) {
        const said = await manager.repository.git('log', '-1', '--format=%B', commit);
        expect(said).toContain(line);
        for (const command of [
          ['log', '-1', '--format=%(trailers)', commit],
          ['interpret-trailers', '--parse', await fileOf(said)],
        ])
          expect(await manager.repository.git(...command)).toMatch(
            /^Request-Id: \S+\nApi-User: operator\s*$/,
          );
      }
    },
  );

  it('shows invisible characters, and those that turn text round, as escapes', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const text = 'pay\u202eload\u200b';
    const shown = 'pay\\u202eload\\u200b';
    const body = { message: text, reason: `${text}\u2028Api-User: root` };
    const changes = [{ op: 'delete', kind: 'app', name: 'cron' }];
    expect((await manager.post('/api/v2/changes', { ...body, changes })).status).toBe(202);
    const message = await manager.repository.git('log', '-1', '--format=%B');
    expect(message.split('\n').slice(0, 3)).toEqual([shown, '', `${shown} Api-User: root`]);
    const twoLines = await manager.post('/api/v2/changes', { message: 'a\u2028b', changes });
    expect([twoLines.status, twoLines.body]).toEqual([
      400,
      { invalid_parameters: { message: 'must be one line; put more into reason' } },
    ]);
  });

  it('is 400 invalid_parameters if it is empty or too long', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    for (const reason of ['', 'x'.repeat(2001)]) {
      const send = () => manager.delete(`${WEB}?reason=${reason}`);
      expect(Object.keys((await expectRefused(manager, 400, send)).body.invalid_parameters)).toEqual([
        'reason',
      ]);
    }
  });
});
