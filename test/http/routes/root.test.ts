import { describe, expect, it } from 'vitest';
import { startManager } from '../../support/manager.ts';

describe('the path /', () => {
  it('tells a person without credentials what this is and where to go, and is no operation of the API', async () => {
    const manager = await startManager();
    const reply = await manager.get('/', { authorization: null });
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(reply.text).toMatch(/^This is Holdfast, /);
    const [, ...paths] = reply.text.match(/^ {2}(\/[\w/.]+)/gm)?.map((path) => path.trim()) ?? [];
    expect(paths).toEqual(['/openapi.json', '/healthz', '/metrics']);
    for (const path of paths) expect((await manager.get(path)).status).toBe(200);
    expect((await manager.get('/openapi.json')).body.paths).not.toHaveProperty('/');
    expect((await manager.post('/')).status).toBe(405);
  });
});
