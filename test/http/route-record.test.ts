import Fastify, { type RouteOptions } from 'fastify';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Api } from '../../src/http/api.ts';
import { useOpenApi } from '../../src/http/openapi/openapi.ts';
import type { RouteRecord } from '../../src/http/route-record.ts';
import { useWebhook } from '../../src/http/routes/webhook.ts';
import { ROUTES } from '../../src/http/server.ts';

const found: RouteOptions[] = [];

beforeAll(async () => {
  const app = Fastify();
  app.setValidatorCompiler(() => () => true).setSerializerCompiler(() => JSON.stringify);
  app.addHook('onRoute', (route) => void found.push(route));
  await useOpenApi(app, '1');
  for (const routes of ROUTES) routes(app, {} as Api);
  await useWebhook(app, {} as Api, 'a secret');
  await app.ready();
});

/** The routes, without HEAD, whose record is so. */
function routesWhere(is: (record: RouteRecord) => boolean): string[] {
  return found
    .filter(({ method, config }) => method !== 'HEAD' && config?.record !== undefined && is(config.record))
    .map(({ method, url }) => `${String(method)} ${url}`)
    .sort();
}

describe('each route', () => {
  it('says which action it is', () => {
    expect(found.length).toBeGreaterThan(60);
    expect(found.filter(({ config }) => config?.record?.action === undefined)).toEqual([]);
  });

  it('needs credentials and an action, with few exceptions', () => {
    const open = ['GET /', 'GET /healthz', 'GET /openapi.json', 'GET /readyz'];
    expect(routesWhere(({ action }) => action === 'public')).toEqual(open);
    expect(routesWhere(({ guarded }) => !guarded)).toEqual([...open, 'POST /webhook']);
  });

  it('is known to the log and to hosts if it is a probe, or devices send many of it', () => {
    expect(routesWhere(({ isProbe }) => isProbe)).toEqual(['GET /healthz', 'GET /readyz']);
    expect(routesWhere(({ isRoutine }) => isRoutine)).toEqual([
      'GET /api/v2/device_groups/:device_group_name/info',
      'GET /api/v2/devices/:device_name/info',
      'POST /api/v2/reports',
    ]);
  });

  it('has replies with the revision if it is about objects and reports, or is a rollback', () => {
    const places = new Set(
      routesWhere(({ carriesRevision }) => carriesRevision).map((route) => route.split('/')[3]),
    );
    expect([...places].sort()).toEqual([
      'apps',
      'changes',
      'device_groups',
      'devices',
      'files',
      'prune',
      'reports',
      'rollback',
    ]);
  });
});
