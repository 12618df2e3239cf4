import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { expectNothingWritten } from '../support/manager-state.ts';
import { suiteManager } from '../support/suite.ts';
import { report } from './expected.ts';

const IMAGE = { container_image: 'nginx:2' };
const GROUP = { apps: ['web'] };

type Write = [method: string, path: string, body?: unknown];

/** Every write, with a body that it accepts. */
const WRITES: Write[] = [
  ['POST', '/api/v2/apps/new', IMAGE],
  ['POST', '/api/v2/apps/web/update', IMAGE],
  ['PUT', '/api/v2/apps/web/update', IMAGE],
  ['PATCH', '/api/v2/apps/web/update', IMAGE],
  ['POST', '/api/v2/apps/web/stop'],
  ['POST', '/api/v2/apps/cron/start'],
  ['POST', '/api/v2/apps/web/restart'],
  ['DELETE', '/api/v2/apps/cron'],
  ['POST', '/api/v2/device_groups/new', GROUP],
  ['POST', '/api/v2/device_groups/edge/update', GROUP],
  ['PUT', '/api/v2/device_groups/edge/update', GROUP],
  ['PATCH', '/api/v2/device_groups/edge/update', GROUP],
  ['POST', '/api/v2/device_groups/edge/prune'],
  ['DELETE', '/api/v2/device_groups/edge'],
  ['POST', '/api/v2/prune'],
  ['POST', '/api/v2/reconcile'],
  ['POST', '/api/v2/reports', report('a', 1)],
];

const WHY = 'is not a parameter of this request';

describe('docs/contract.md, 5.3: an unknown key of the query of a write', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it.each<Write>(WRITES)(
    'is 400 invalid_parameters, and nothing is written: %s %s',
    async (method, path, body) => {
      for (const [query, key] of [
        ['dryrun=true', 'dryrun'],
        ['dry-run=true', 'dry-run'],
        ['=', ''],
      ]) {
        const reply = await expectNothingWritten(manager(), () =>
          manager().request(method, `${path}?${query}`, { body }),
        );
        expect([reply.status, reply.body]).toEqual([400, { invalid_parameters: { [key ?? '']: WHY } }]);
      }
    },
  );

  it.each<Write>(WRITES)('is a documented error: %s %s', async (method, path) => {
    const { paths } = (await manager().get('/openapi.json')).body;
    const documented = path
      .replace(/(?<=apps\/)[a-z]+/, '{app_name}')
      .replace(/(?<=device_groups\/)[a-z]+/, '{device_group_name}');
    expect(Object.keys(paths[documented][method.toLowerCase()].responses)).toContain('400');
  });

  it('comes after errors of access, of the path and of the object, and before those of the body', async () => {
    const statusOf = async (method: string, path: string, options = {}) =>
      (await manager().request(method, `${path}?x=1`, options)).status;
    expect(await statusOf('DELETE', '/api/v2/apps/web', { authorization: null })).toBe(401);
    expect(await statusOf('DELETE', '/api/v2/apps/web/restart')).toBe(405);
    expect(await statusOf('DELETE', '/api/v2/apps/unknown')).toBe(403);
    expect(await statusOf('POST', '/api/v2/device_groups/unknown/prune')).toBe(403);
    const bad = await manager().post('/api/v2/apps/new?x=1', { container_image: 1 });
    expect(bad.body).toEqual({ invalid_parameters: { x: WHY } });
  });

  it('is ignored by reads, and by a question mark without a key', async () => {
    expect((await manager().get('/api/v2/apps?x=1')).status).toBe(200);
    const own = await startManager({ files: SMALL_FLEET });
    expect((await own.post('/api/v2/apps/web/restart?')).status).toBe(202);
  });
});
