import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../../support/manager.ts';
import { suiteManager } from '../../support/suite.ts';

describe('GET /metrics', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it('requires credentials, however its path is spelt', async () => {
    for (const path of ['/metrics', '/metrics/', '//metrics', '/metrics?x', '/%6detrics'])
      expect((await manager().get(path, { authorization: null })).status, path).toBe(401);
  });

  it('has metrics of passes, requests, problems and the process', async () => {
    await manager().get('/api/v2/apps');
    const { status, headers, text } = await manager().get('/metrics');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toMatch(/^text\/plain/);
    expect(text).toMatch(/^holdfast_passes_total\{outcome="ok"\} [1-9]/m);
    expect(text).toMatch(
      /^holdfast_http_requests_total\{method="GET",route="\/api\/v2\/apps",status="200"\} [1-9]/m,
    );
    expect(text).toMatch(/^holdfast_problems 0$/m);
    expect(text).toMatch(/^holdfast_applied_timestamp_seconds \d{10}/m);
    expect(text).toMatch(/^holdfast_http_connections [1-9]/m);
    expect(text).toMatch(/^process_resident_memory_bytes \d+/m);
  });

  it('has the number of current problems', async () => {
    await manager().repository.commit({ 'desired-state/apps/bad.yaml': 'x: 1\n' });
    await manager().reconcile();
    const { problems } = (await manager().get('/api/v2/reconcile')).body;
    expect(problems).not.toEqual([]);
    expect((await manager().get('/metrics')).text).toMatch(
      new RegExp(`^holdfast_problems ${problems.length}$`, 'm'),
    );
  });
});
