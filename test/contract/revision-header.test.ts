import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import { JSON_TYPE, sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';

const REPORT = '{"hostname":"h","device_group":"edge","report_creation_time":1}';

/** Requests about apps, groups and reports, with their statuses; sent in this order. */
const REQUESTS: readonly (readonly [
  method: string,
  path: string,
  body: string | undefined,
  status: number,
])[] = [
  ['GET', '/api/v2/apps', undefined, 200],
  ['GET', '/api/v2/apps/web', undefined, 200],
  ['HEAD', '/api/v2/apps/web', undefined, 200],
  ['GET', '/api/v2/apps/nope', undefined, 403],
  ['GET', '/api/v2/apps/..', undefined, 400],
  ['GET', '/api/v2/apps/%zz', undefined, 400],
  ['GET', `/api/v2/apps/${'a'.repeat(600)}`, undefined, 400],
  ['POST', '/api/v2/apps/new', '{"container_image":"a"}', 200],
  ['POST', '/api/v2/apps/new', '{"container_image":"a"}', 403],
  ['POST', '/api/v2/apps/new2', '{}', 400],
  ['POST', '/api/v2/apps/web/stop', undefined, 202],
  ['POST', '/api/v2/apps/web/stop', undefined, 202],
  ['POST', '/api/v2/apps/web/restart', undefined, 202],
  ['POST', '/api/v2/apps/web/restart', undefined, 202],
  ['PUT', '/api/v2/apps/web/update', '{"privileged":true}', 202],
  ['PUT', '/api/v2/apps/web/update', '{"privileged":true}', 202],
  ['PUT', '/api/v2/apps/web/update', '{"privileged":1}', 400],
  ['PUT', '/api/v2/apps/web/update', '{', 400],
  ['DELETE', '/api/v2/apps/new', undefined, 200],
  ['DELETE', '/api/v2/apps/new', undefined, 403],
  ['GET', '/api/v2/apps/web/nope', undefined, 404],
  ['PATCH', '/api/v2/apps/web', undefined, 405],
  ['OPTIONS', '/api/v2/apps/web', undefined, 204],
  ['PUT', '/api/v2/%61pps', undefined, 405],
  ['OPTIONS', '/api/v2/%61pps', undefined, 204],
  ['PUT', 'HTTP://somewhere/api/v2/apps', undefined, 405],
  ['GET', '/api/v2/device_groups', undefined, 200],
  ['GET', '/api/v2/device_groups/edge', undefined, 200],
  ['GET', '/api/v2/device_groups/edge/info', undefined, 200],
  ['GET', '/api/v2/device_groups/nope/info', undefined, 403],
  ['POST', '/api/v2/device_groups/new', '{"apps":["web"]}', 200],
  ['POST', '/api/v2/device_groups/new/update', '{"apps":[]}', 202],
  ['POST', '/api/v2/device_groups/new/update', '{"apps":[]}', 202],
  ['POST', '/api/v2/device_groups/new/update', '{"apps":["nope"]}', 403],
  ['POST', '/api/v2/device_groups/new/prune', undefined, 202],
  ['DELETE', '/api/v2/device_groups/new', undefined, 200],
  ['POST', '/api/v2/prune', undefined, 202],
  ['POST', '/api/v2/reports', REPORT, 200],
  ['POST', '/api/v2/reports', '{}', 400],
  ['GET', '/api/v2/reports', undefined, 200],
  ['GET', '/api/v2/reports?page_size=0', undefined, 400],
];

describe('docs/contract.md, 10.3: Holdfast-Revision', () => {
  const manager = suiteManager({ files: SMALL_FLEET });
  const head = () => manager().repository.git('rev-parse', 'HEAD');

  it.each(REQUESTS)(
    'on every reply about apps, groups and reports: %s %s %s -> %i',
    async (method, path, body, status) => {
      const given = body === undefined ? {} : { body, headers: JSON_TYPE };
      const reply = await sendRaw(manager(), { method, path, ...given });
      expect(reply.status).toBe(status);
      expect(reply.headers['holdfast-revision']).toBe(await head());
      expect(reply.headers['x-request-id']).toMatch(/\S/);
    },
  );

  it('the revision that was applied when it was made: not a newer one that was refused', async () => {
    await manager().repository.commit({ 'desired-state/apps/web.yaml': 'container_image: a\n' });
    await manager().reconcile();
    const applied = await head();
    await manager().repository.commit({
      'desired-state/apps/web.yaml': null,
      'desired-state/apps/cron.yaml': null,
      'desired-state/device-groups/edge.yaml': null,
    });
    await manager().reconcile();
    for (const path of ['/api/v2/apps', '/api/v2/device_groups/edge/info', '/api/v2/apps/nope'])
      expect((await manager().get(path)).headers.get('holdfast-revision')).toBe(applied);
  });
});
