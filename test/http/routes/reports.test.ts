import Fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import type { Api } from '../../../src/http/api.ts';
import { useJsonBodies } from '../../../src/http/request/body.ts';
import { reportRoutes } from '../../../src/http/routes/reports.ts';
import { buildEngine, wrap } from '../../support/engine.ts';

it('POST /api/v2/reports stores nothing if it fails because the state cannot be read: its device sends it again', async () => {
  const { store } = await buildEngine();
  const state = () => Promise.reject(new Error('the connection is lost'));
  const app = Fastify();
  onTestFinished(() => app.close());
  app.setValidatorCompiler(() => (value) => ({ value }));
  app.setSerializerCompiler(() => JSON.stringify);
  useJsonBodies(app, 1000);
  reportRoutes(app, { store: wrap(store, { state }), now: () => 0 } as Partial<Api> as Api);
  const payload = { hostname: 'a', device_group: 'edge', report_creation_time: 1 };
  expect((await app.inject({ method: 'POST', url: '/api/v2/reports', payload })).statusCode).toBe(500);
  expect((await store.reports({ pageSize: 1 })).data).toEqual([]);
});
