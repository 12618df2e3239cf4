import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import { sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';

const WEB = '/api/v2/apps/web';
const EDGE = '/api/v2/device_groups/edge';

describe('docs/contract.md, 7.2 and 10.4: If-None-Match (RFC 9110, 13.1.2)', () => {
  const manager = suiteManager({ files: SMALL_FLEET });
  const read = (path: string, tag: string) => manager().get(path, { headers: { 'if-none-match': tag } });
  const tagOf = async (path: string) => (await manager().get(path)).headers.get('etag') ?? '';

  describe.each([WEB, EDGE, `${EDGE}/info`])('%s', (path) => {
    it.each<[string, (tag: string) => string]>([
      ['the ETag', (tag) => tag],
      ['a list with the ETag', (tag) => `"x", ${tag} , "y"`],
      ['the ETag marked as weak', (tag) => `W/${tag}`],
      ['a list with the ETag and empty elements (RFC 9110, 5.6.1)', (tag) => `,, ${tag}\t,`],
      ['a list with the ETag after one that has a comma in it', (tag) => `"a,b", ${tag}`],
      ['*', () => '*'],
    ])('answers 304 without a body to %s', async (_, header) => {
      const tag = await tagOf(path);
      const reply = await read(path, header(tag));
      expect([reply.status, reply.text, reply.headers.get('etag')]).toEqual([304, '', tag]);
      expect(reply.headers.get('holdfast-revision')).toMatch(/^[0-9a-f]{40}$/);
    });

    it.each<[string, (tag: string) => string]>([
      ['another ETag', (tag) => `"9${tag.slice(1)}`],
      ['the ETag without quotes', (tag) => tag.slice(1, -1)],
      ['the ETag within another ETag', (tag) => `"x,${tag.slice(1)}`],
      ['the ETag with a lower-case w/ before it', (tag) => `w/${tag}`],
      ['an empty value', () => ''],
    ])('answers with the object to %s', async (_, header) => {
      const reply = await read(path, header(await tagOf(path)));
      expect([reply.status, reply.body]).toEqual([200, (await manager().get(path)).body]);
    });

    it.each(['GET', 'HEAD'])(
      'answers %s with a 304 that has neither Content-Length nor Content-Type',
      async (method) => {
        const headers = { 'if-none-match': await tagOf(path) };
        const reply = await sendRaw(manager(), { method, path, headers });
        expect([reply.status, reply.text]).toEqual([304, '']);
        expect(reply.headers).not.toHaveProperty('content-length');
        expect(reply.headers).not.toHaveProperty('content-type');
      },
    );
  });

  it.each([
    ['a restart', WEB, 'POST', `${WEB}/restart`, undefined],
    ['a change of an app', WEB, 'PUT', `${WEB}/update`, { privileged: true }],
    ['a change of a device group', EDGE, 'PUT', `${EDGE}/update`, { apps: ['web'] }],
    ['a prune of the group', EDGE, 'POST', `${EDGE}/prune`, undefined],
    ['a prune of all groups', EDGE, 'POST', '/api/v2/prune', undefined],
  ])('answers the ETag from before %s with the object', async (_, path, method, target, body) => {
    const before = await manager().get(path);
    expect((await manager().request(method, target, { body })).status).toBe(202);
    const after = await read(path, before.headers.get('etag') ?? '');
    expect(after.status).toBe(200);
    expect(after.body).not.toEqual(before.body);
  });

  it('answers 403 for an object that does not exist', async () => {
    expect((await read('/api/v2/apps/nope', '*')).status).toBe(403);
    expect((await read('/api/v2/device_groups/nope', '*')).status).toBe(403);
  });

  it.each<[method: string, target: string, path: string, body: unknown]>([
    ['POST', `${WEB}/start`, WEB, undefined],
    ['POST', `${WEB}/restart`, WEB, undefined],
    ['PUT', `${WEB}/update`, WEB, { privileged: false }],
    ['POST', `${WEB}/update`, WEB, { container_image: 'other' }],
    ['DELETE', WEB, WEB, undefined],
    ['POST', `${EDGE}/update`, EDGE, { apps: [] }],
    ['POST', `${EDGE}/prune`, EDGE, undefined],
    ['DELETE', EDGE, EDGE, undefined],
  ])(
    'refuses a write with 412 if it names the current ETag or *: %s %s',
    async (method, target, path, body) => {
      const before = await manager().get(path);
      for (const tag of [before.headers.get('etag') ?? '', '*']) {
        const reply = await manager().request(method, target, { body, headers: { 'if-none-match': tag } });
        expect([reply.status, reply.body]).toEqual([
          412,
          { error: expect.stringContaining('If-None-Match') },
        ]);
      }
      expect((await manager().get(path)).body).toEqual(before.body);
    },
  );

  it('carries out a write that names other ETags, and a create with * of a name that is free', async () => {
    const headers = { 'if-none-match': '"1", W/"2"' };
    expect((await manager().post(`${WEB}/stop`, undefined, { headers })).status).toBe(202);
    expect((await manager().post(`${WEB}/restart`, undefined, { headers })).status).toBe(202);
    expect((await manager().post(`${EDGE}/prune`, undefined, { headers })).status).toBe(202);
    const create = { headers: { 'if-none-match': '*' } };
    expect((await manager().post('/api/v2/apps/new', { container_image: 'a' }, create)).status).toBe(200);
    expect((await manager().post('/api/v2/apps/new', { container_image: 'a' }, create)).status).toBe(403);
  });

  it('lets 403 existence and 400 body come first, as If-Match does', async () => {
    const options = { headers: { 'if-none-match': '*' } };
    expect((await manager().delete('/api/v2/apps/nope', options)).status).toBe(403);
    expect((await manager().put(`${WEB}/update`, { privileged: 1 }, options)).status).toBe(400);
  });
});

describe('docs/contract.md, 10.4: If-Match on a write to a device group', () => {
  const manager = suiteManager({ files: SMALL_FLEET });
  const update = (tag: string, apps: string[]) =>
    manager().put(`${EDGE}/update`, { apps }, { headers: { 'if-match': tag } });

  it('takes the ETag, which a prune changes, or the device_group_id, which it does not', async () => {
    const tag = (await manager().get(EDGE)).headers.get('etag') ?? '';
    const { device_group_id } = (await manager().post(`${EDGE}/prune`)).body;
    expect((await update(tag, [])).status, 'the ETag before the prune').toBe(412);
    expect((await update(`"${device_group_id}"`, ['web'])).status).toBe(202);
    expect((await update(`"${device_group_id}"`, [])).status).toBe(412);
    const now = (await manager().get(EDGE)).headers.get('etag') ?? '';
    expect((await update(now, [])).status).toBe(202);
  });
});
