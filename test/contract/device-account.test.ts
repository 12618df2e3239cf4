import { describe, expect, it } from 'vitest';
import { PASSWORD, SMALL_FLEET, startManager, USER } from '../support/manager.ts';
import { expectRefused } from '../support/manager-state.ts';
import { suiteManager } from '../support/suite.ts';
import { basic } from './expected.ts';

const DEVICE = basic('device:of many shops');
const settings = { DEVICE_AUTH_USER: 'device', DEVICE_AUTH_PASSWORD: 'of many shops' };
const REPORT = { hostname: 'a', device_group: 'edge', report_creation_time: 1, updated: true };

describe('docs/contract.md, 6.2: Right credentials, no permission', () => {
  const manager = suiteManager({ files: SMALL_FLEET, settings });

  it.each([
    ['GET', '/api/v2/device_groups/edge/info', undefined, 200],
    ['HEAD', '/api/v2/device_groups/edge/info', undefined, 200],
    ['GET', '/api/v2/device_groups/nope/info', undefined, 403],
    ['GET', '/api/v2/status', undefined, 200],
    ['HEAD', '/api/v2/status', undefined, 200],
    ['POST', '/api/v2/reports', REPORT, 200],
  ])('devices are allowed %s %s', async (method, path, body, status) => {
    const reply = await manager().request(method, path, { authorization: DEVICE, body });
    expect(reply.status).toBe(status);
    expect(reply.body ?? {}).not.toHaveProperty('access_allowed');
  });

  it('devices can poll /info again, also while its reply is cached', async () => {
    for (let poll = 0; poll < 3; poll++) {
      const reply = await manager().request('GET', '/api/v2/device_groups/edge/info', {
        authorization: DEVICE,
      });
      expect(reply.status).toBe(200);
    }
  });

  it.each([
    ['GET', '/api/v2/apps'],
    ['GET', '/api/v2/apps/web'],
    ['GET', '/api/v2/apps/nope'],
    ['POST', '/api/v2/apps/evil'],
    ['DELETE', '/api/v2/apps/web'],
    ['POST', '/api/v2/apps/web/stop'],
    ['POST', '/api/v2/apps/web/restart'],
    ['POST', '/api/v2/apps/web/update'],
    ['PUT', '/api/v2/apps/web/update'],
    ['POST', '/api/v2/prune'],
    ['GET', '/api/v2/device_groups'],
    ['GET', '/api/v2/device_groups/edge'],
    ['DELETE', '/api/v2/device_groups/edge'],
    ['POST', '/api/v2/device_groups/edge/update'],
    ['POST', '/api/v2/device_groups/edge/prune'],
    ['POST', '/api/v2/device_groups/edge/info'],
    ['GET', '/api/v2/reports'],
    ['DELETE', '/api/v2/reports'],
    ['POST', '/api/v2/status'],
    ['GET', '/api/v2/operations'],
    ['GET', '/api/v2/reconcile'],
    ['POST', '/api/v2/reconcile'],
    ['GET', '/metrics'],
    ['GET', '/api/v2/nothing/here'],
    ['GET', '/api/v2/apps/%zz'],
    ['PROPFIND', '/api/v2/apps/web'],
  ])('devices are refused with 403, access_allowed: false: %s %s', async (method, path) => {
    const body = method === 'GET' ? {} : { body: { container_image: 'evil', apps: [] } };
    const reply = await expectRefused(manager(), 403, () =>
      manager().request(method, path, { authorization: DEVICE, ...body }),
    );
    expect(reply.body).toEqual({ access_allowed: false });
  });

  it('401 for the user of devices with another password, also that of the administrator', async () => {
    for (const password of ['wrong', PASSWORD])
      await expectRefused(manager(), 401, () =>
        manager().request('GET', '/api/v2/status', { authorization: basic(`device:${password}`) }),
      );
  });

  it('a manager does not start if devices have the user of the administrator', async () => {
    const starting = startManager({ files: SMALL_FLEET, settings: { ...settings, DEVICE_AUTH_USER: USER } });
    await expect(starting).rejects.toThrow(/DEVICE_AUTH_USER/);
  });
});
