import { expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../../support/manager.ts';

it('GET /api/v2/reconcile names the clone that the manager follows, which is never polled', async () => {
  const manager = await startManager({ files: SMALL_FLEET });
  const { origin } = (await manager.reconcile()).body;
  const address = manager.repository.folder;
  expect(origin).toEqual({ address, reached_at: null, error: null });
  const [line] = manager.log.filter(({ msg }) => msg === 'listening');
  expect(line).toMatchObject({ origin: address, branch: 'the one that is checked out' });
});

it('GET and POST /api/v2/reconcile send very many problems in parts, sorted by file', async () => {
  const notes = Array.from({ length: 2500 }, (_, index) => `notes/${index}.txt`);
  const manager = await startManager({
    files: { ...SMALL_FLEET, ...Object.fromEntries(notes.map((path) => [path, 'x'])) },
    logLevel: 'silent',
  });
  for (const method of ['GET', 'POST']) {
    const { status, headers, body } = await manager.request(method, '/api/v2/reconcile');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(headers.get('content-length'), 'the length of a reply in parts').toBeNull();
    expect(body).toMatchObject({ state: 'applied', branch: 'main', error: null });
    expect(body.problems.map(({ file }: { file: string }) => file)).toEqual([...notes].sort());
    expect(body.problems[0]).toEqual({
      ...{ file: 'notes/0.txt', line: 1, column: 1, code: 'file-unexpected', severity: 'warning' },
      ...{ message: expect.any(String), since: expect.stringMatching(/^\d{4}-.*Z$/) },
    });
  }
  const head = await manager.request('HEAD', '/api/v2/reconcile');
  expect([head.status, head.text]).toEqual([200, '']);
});
