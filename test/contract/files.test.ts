import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { expectNothingWritten, expectRefused, lastCommit } from '../support/manager-state.ts';
import { suiteManager } from '../support/suite.ts';

const WEB = '/api/v2/files/app/web';
const TEXT = '# mine\ncontainer_image: "nginx:2"\n';

describe('docs/contract.md, 4.7: the file of an object', () => {
  it('is read, and written byte for byte in one commit', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { id } = await lastCommit(manager.repository);
    const read = await manager.get(WEB);
    expect([read.status, read.body]).toEqual([
      200,
      {
        path: 'desired-state/apps/web.yaml',
        blob: await manager.repository.git('rev-parse', 'HEAD:desired-state/apps/web.yaml'),
        text: SMALL_FLEET['apps/web.yaml'],
        revision: id,
      },
    ]);
    const etag = read.headers.get('etag') ?? '';
    expect(etag).toBe(`"${read.body.blob}"`);
    const written = await manager.put(WEB, { text: TEXT }, { headers: { 'if-match': etag } });
    const commit = await lastCommit(manager.repository);
    expect([written.status, written.body.revision, written.body.text]).toEqual([202, commit.id, TEXT]);
    expect(commit.files).toEqual(['M desired-state/apps/web.yaml']);
    expect(await manager.repository.show('desired-state/apps/web.yaml')).toBe(TEXT);
    expect((await manager.get('/api/v2/apps/web')).body.container_image).toBe('nginx:2');
    const again = () => manager.put(WEB, { text: '' }, { headers: { 'if-match': etag } });
    expect((await expectRefused(manager, 412, again)).body.error).toContain('If-Match');
  });

  it('can be a new one, and one that was never valid', async () => {
    const manager = await startManager({ files: { ...SMALL_FLEET, 'apps/x/bad.yaml': '[\n' } });
    const headers = { 'if-none-match': '*' };
    const created = await manager.put('/api/v2/files/app/new', { text: TEXT }, { headers });
    expect([created.status, created.body.path]).toEqual([202, 'desired-state/apps/new.yaml']);
    const bad = await manager.get('/api/v2/files/app/bad');
    expect([bad.body.path, bad.body.text]).toEqual(['desired-state/apps/x/bad.yaml', '[\n']);
    const ifMatch = { 'if-match': `"${bad.body.blob}"` };
    const fixed = await manager.put('/api/v2/files/app/bad', { text: TEXT }, { headers: ifMatch });
    expect([fixed.status, fixed.body.path]).toEqual([202, 'desired-state/apps/x/bad.yaml']);
    expect((await manager.get('/api/v2/apps/bad')).status).toBe(200);
  });
});

it('leaves one file of a name that several claim', async () => {
  const manager = await startManager({ files: { ...SMALL_FLEET, 'apps/x/web.yaml': TEXT } });
  const written = await manager.put(WEB, { text: TEXT }, { headers: { 'if-match': '*' } });
  expect(written.status).toBe(202);
  expect((await lastCommit(manager.repository)).files).toEqual([
    'M desired-state/apps/web.yaml',
    'D desired-state/apps/x/web.yaml',
  ]);
  expect((await manager.get('/api/v2/apps/web')).body.container_image).toBe('nginx:2');
});

describe('a write of a file', () => {
  const manager = suiteManager({ files: SMALL_FLEET });
  const any = { 'if-match': '*' };

  it.each<[string, number, string, unknown, Record<string, string>, unknown]>([
    ['without a condition', 428, WEB, { text: TEXT }, {}, { error: expect.any(String) }],
    [
      'with an unknown kind',
      400,
      '/api/v2/files/pod/web',
      { text: TEXT },
      any,
      { invalid_parameters: { kind: 'must be one of app, device_group, device' } },
    ],
    ['without a text', 400, WEB, {}, any, { missing_parameters: ['text'] }],
    ...['\0', '\ud800'].map(
      (character): [string, number, string, unknown, Record<string, string>, unknown] => [
        `with ${JSON.stringify(character)} in its text`,
        400,
        WEB,
        { text: `${TEXT}# ${character}\n` },
        any,
        { invalid_parameters: { text: 'must be Unicode text without NUL characters' } },
      ],
    ),
    [
      'for a new file that must be there, too',
      412,
      WEB,
      { text: TEXT },
      { ...any, 'if-none-match': '*' },
      { error: expect.any(String) },
    ],
    [
      'with another member',
      400,
      WEB,
      { text: TEXT, path: 'x' },
      any,
      { invalid_parameters: { path: expect.any(String) } },
    ],
    [
      'for an object without a file',
      403,
      '/api/v2/files/app/ghost',
      { text: TEXT },
      any,
      { app_exists: false },
    ],
    [
      'for a new file where there is one',
      412,
      WEB,
      { text: TEXT },
      { 'if-none-match': '*' },
      { error: expect.any(String) },
    ],
    [
      'with a text that is invalid',
      409,
      WEB,
      { text: 'container_image: 7\n' },
      any,
      { error: expect.any(String), problems: [expect.objectContaining({ file: 'apps/web.yaml', line: 1 })] },
    ],
    [
      'with a list that has an unknown app',
      409,
      '/api/v2/files/device_group/edge',
      { text: 'apps: [ghost]\n' },
      any,
      { error: expect.any(String), problems: [expect.objectContaining({ code: 'app-unknown' })] },
    ],
    [
      'with an unknown base',
      404,
      WEB,
      { text: TEXT },
      { ...any, 'holdfast-base': 'nowhere' },
      { revision_exists: false },
    ],
  ])('is refused %s: %i', async (_, status, path, body, headers, error) => {
    const reply = await expectRefused(manager(), status, () => manager().put(path, body, { headers }));
    expect(reply.body).toEqual(error);
  });

  it('with dry_run=true is only shown', async () => {
    const shown = await expectNothingWritten(manager(), () =>
      manager().put(`${WEB}?dry_run=true`, { text: TEXT }, { headers: any }),
    );
    expect([shown.status, shown.body.files[0].after]).toEqual([200, TEXT]);
  });

  it('of an object that does not exist is 403 when it is read', async () => {
    const reply = await manager().get('/api/v2/files/device_group/ghost');
    expect([reply.status, reply.body]).toEqual([403, { device_group_exists: false }]);
  });
});
