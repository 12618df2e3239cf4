import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { commitCount, expectRefused, lastCommit } from '../support/manager-state.ts';
import { suiteManager } from '../support/suite.ts';

const CHANGES = '/api/v2/changes';
const IMAGE = { container_image: 'nginx:2' };

describe('docs/contract.md, 4.6: POST /api/v2/changes', () => {
  const MIXED = [
    { op: 'create', kind: 'device_group', name: 'lab', fields: { apps: ['new'] } },
    { op: 'create', kind: 'app', name: 'new', fields: IMAGE },
    { op: 'change', kind: 'app', name: 'web', fields: IMAGE },
    { op: 'delete', kind: 'app', name: 'cron' },
  ];

  it('makes one commit for all changes, and replies with the objects after it', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await commitCount(manager.repository);
    const reply = await manager.post(CHANGES, {
      message: 'Open the lab',
      reason: 'until May',
      changes: MIXED,
    });
    const { id, subject, files } = await lastCommit(manager.repository);
    expect([reply.status, reply.body.revision, subject]).toEqual([202, id, 'Open the lab']);
    expect(reply.headers.get('holdfast-revision')).toBe(id);
    expect(await commitCount(manager.repository)).toBe(before + 1);
    expect(files.sort()).toEqual([
      'A desired-state/apps/new.yaml',
      'A desired-state/device-groups/lab.yaml',
      'D desired-state/apps/cron.yaml',
      'M desired-state/apps/web.yaml',
      'M desired-state/device-groups/edge.yaml',
    ]);
    const { objects } = reply.body;
    expect(objects['app/cron']).toBeNull();
    expect(objects['app/web']).toEqual((await manager.get('/api/v2/apps/web')).body);
    expect(objects['app/web']).toMatchObject({ container_image: 'nginx:2', starting_ports: [80] });
    expect(objects['device_group/lab']).toMatchObject({ apps: ['new'], device_group_id: 1 });
    const message = await manager.repository.git('log', '-1', '--format=%B');
    expect(message).toContain('\n\nuntil May\n\n');
  });

  it('deletes an app with its groups', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const changes = [
      { op: 'delete', kind: 'app', name: 'web' },
      { op: 'delete', kind: 'device_group', name: 'edge' },
    ];
    const reply = await manager.post(CHANGES, { changes });
    expect([reply.status, reply.body.objects]).toEqual([202, { 'app/web': null, 'device_group/edge': null }]);
    expect((await lastCommit(manager.repository)).files.map((line) => line[0])).toEqual(['D', 'D']);
  });

  it('is 202 without a commit if nothing would change', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await commitCount(manager.repository);
    const changes = [{ op: 'change', kind: 'app', name: 'web', fields: { running: true } }];
    const reply = await manager.post(CHANGES, { changes });
    expect([reply.status, reply.body.revision]).toEqual([202, null]);
    expect(reply.body.objects['app/web'].app_name).toBe('web');
    expect(await commitCount(manager.repository)).toBe(before);
  });

  it('commits exactly what its preview shows, as long as Holdfast-Base holds', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { status, body: shown } = await manager.post(`${CHANGES}?dry_run=true`, { changes: MIXED });
    expect([status, await commitCount(manager.repository)]).toEqual([200, 1]);
    const headers = { 'holdfast-base': shown.base };
    expect((await manager.post(CHANGES, { changes: MIXED }, { headers })).status).toBe(202);
    for (const { path, after } of shown.files)
      if (after !== null) expect(await manager.repository.show(path)).toBe(after);
    expect((await lastCommit(manager.repository)).subject).toBe(shown.subject);
    const other = { changes: [{ op: 'delete', kind: 'app', name: 'web' }] };
    await expectRefused(manager, 412, () => manager.post(CHANGES, other, { headers }));
  });
});

describe('a refused set of changes', () => {
  const manager = suiteManager({ files: { ...SMALL_FLEET, 'apps/bad.yaml': '[\n' } });
  const good = { op: 'change', kind: 'app', name: 'web', fields: IMAGE };
  const app = (op: string, name: string, fields?: unknown) => ({ op, kind: 'app', name, fields });

  it.each<[string, unknown[], Record<string, unknown>]>([
    ['an unknown app', [good, app('change', 'ghost', IMAGE)], { 1: { app_exists: false } }],
    ['an app that exists', [good, app('create', 'cron', IMAGE)], { 1: { app_exists: true } }],
    [
      'a missing and an unknown field',
      [app('create', 'a', {}), good, app('create', 'b', { ...IMAGE, x: 1 })],
      {
        0: { missing_parameters: ['container_image'] },
        2: { invalid_parameters: { x: expect.any(String) } },
      },
    ],
    [
      'bad fields of an unknown app, which is reported first',
      [app('change', 'ghost', { x: 1 })],
      { 0: { app_exists: false } },
    ],
    [
      'an unknown app in a list',
      [{ op: 'create', kind: 'device_group', name: 'lab', fields: { apps: ['ghost'] } }],
      { 0: { app_exists: false, apps: ['ghost'] } },
    ],
    [
      'an app that it lists in a group and deletes',
      [
        app('delete', 'web'),
        { op: 'replace', kind: 'device_group', name: 'edge', fields: { apps: ['web'] } },
      ],
      { 0: { error: expect.stringContaining('is to list app "web"') } },
    ],
    [
      'a file that is invalid',
      [good, app('change', 'bad', IMAGE)],
      { 1: { error: expect.any(String), problems: [expect.objectContaining({ file: 'apps/bad.yaml' })] } },
    ],
    [
      'an object twice',
      [good, good],
      { 1: { invalid_parameters: { name: expect.stringContaining('app/web') } } },
    ],
    [
      'an unknown kind, operation and member',
      [{ op: 'drop', kind: 'volume', name: 'web', more: 1 }],
      {
        0: {
          invalid_parameters: {
            op: 'must be one of create, replace, change, delete',
            kind: 'must be one of app, device_group, device',
            more: expect.any(String),
          },
        },
      },
    ],
    [
      'fields of a delete',
      [app('delete', 'web', {})],
      { 0: { invalid_parameters: { fields: 'a delete has none' } } },
    ],
    [
      'what cannot be read, beside an app that is missing and one that exists',
      [7, app('change', 'ghost', IMAGE), good, app('create', 'cron', IMAGE)],
      {
        0: { invalid_parameters: expect.any(Object) },
        1: { app_exists: false },
        3: { app_exists: true },
      },
    ],
    [
      'an app that is too large, and not the group that lists it',
      [
        app('create', 'large', { ...IMAGE, command: Array.from({ length: 9000 }, () => 'word-word') }),
        { op: 'create', kind: 'device_group', name: 'lab', fields: { apps: ['large'] } },
      ],
      { 0: { invalid_parameters: { command: expect.any(String) } } },
    ],
    ['what is no object', [7], { 0: { invalid_parameters: expect.any(Object) } }],
  ])('is 400 with the error of each change, and nothing is written: %s', async (_, changes, errors) => {
    const reply = await expectRefused(manager(), 400, () => manager().post(CHANGES, { changes }));
    expect(reply.body).toEqual({ changes: errors });
  });

  it.each<[string, unknown, unknown]>([
    ['no body', undefined, { missing_parameters: ['changes'] }],
    ['no changes', {}, { missing_parameters: ['changes'] }],
    ['an empty list', { changes: [] }, { invalid_parameters: { changes: 'must not be empty' } }],
    [
      'a message of two lines',
      { changes: [good], message: 'a\nb' },
      { invalid_parameters: { message: 'must be one line; put more into reason' } },
    ],
    [
      'an unknown member',
      { changes: [good], dry_run: true },
      { invalid_parameters: { dry_run: expect.any(String) } },
    ],
  ])('is 400 as a whole: %s', async (_, body, error) => {
    const reply = await expectRefused(manager(), 400, () => manager().post(CHANGES, body));
    expect(reply.body).toEqual(error);
  });
});
