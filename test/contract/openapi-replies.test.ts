import { describe, expect, it } from 'vitest';
import { inDesiredState } from '../support/folder.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';

type Schema = { $ref?: string; anyOf?: Schema[]; properties?: object; required?: string[] };

interface Request {
  method: string;
  path: string;
  body?: object;
  headers?: Record<string, string>;
}

/** The schemas that a reply may have, without references. */
function alternatives(
  document: { components: { schemas: Record<string, Schema> } },
  schema: Schema,
): Schema[] {
  const target = schema.$ref?.split('/').at(-1);
  if (target !== undefined) return alternatives(document, document.components.schemas[target] ?? {});
  return schema.anyOf?.flatMap((each) => alternatives(document, each)) ?? [schema];
}

/** Adds a second commit, and a branch `other` without a commit in common; the first commit is tagged `first`. */
async function addCommits({ repository, reconcile }: TestManager): Promise<void> {
  await repository.git('tag', 'first');
  await repository.git('switch', '--quiet', '--orphan', 'other');
  await repository.commit(inDesiredState({ 'apps/web.yaml': 'container_image: nginx:9\n' }));
  await repository.git('switch', '--quiet', 'main');
  await repository.commit(
    inDesiredState({ 'apps/new.yaml': 'container_image: new:1\n', 'apps/bad.yaml': 'container_image: 1\n' }),
  );
  await reconcile();
}

const DELETE = { op: 'delete', kind: 'app', name: 'new' };
const FILE = '/api/v2/files/app/web';
const TEXT = { text: 'container_image: nginx:2\n' };
const any = { 'if-match': '*' };
const post = (path: string, body: object): Request => ({ method: 'POST', path, body });
const rollback = (body: object, query = ''): Request =>
  post(`/api/v2/rollback${query}`, { reason: 'x', ...body });
const put = (path: string, body: object, headers = {}): Request => ({ method: 'PUT', path, body, headers });
const get = (path: string): Request => ({ method: 'GET', path });

/** Sent in this order to one manager. */
const CASES: [route: string, status: number, request: (first: string) => Request][] = [
  ['/api/v2/history', 200, () => get('/api/v2/history')],
  ['/api/v2/history', 404, () => get('/api/v2/history?revision=nope')],
  ['/api/v2/history/{entry}', 200, (first) => get(`/api/v2/history/${first}`)],
  ['/api/v2/history/{entry}', 404, () => get('/api/v2/history/99')],
  ['/api/v2/diff', 200, (first) => get(`/api/v2/diff?from=${first}&to=main`)],
  ['/api/v2/blame/{kind}/{name}', 200, () => get('/api/v2/blame/app/web')],
  ['/api/v2/blame/{kind}/{name}', 403, () => get('/api/v2/blame/app/nope')],
  ['/api/v2/plan', 200, () => get('/api/v2/plan?revision=main')],
  ['/api/v2/plan', 404, () => get('/api/v2/plan?revision=nope')],
  ['/api/v2/plan', 409, () => get('/api/v2/plan?revision=other')],
  ['/api/v2/rollback', 200, (first) => rollback({ to: first, objects: ['app/web'] }, '?dry_run=true')],
  ['/api/v2/rollback', 202, (first) => rollback({ to: first, objects: ['app/web'] })],
  ['/api/v2/rollback', 403, (first) => rollback({ to: first, objects: ['app/nope'] })],
  ['/api/v2/rollback', 409, (first) => rollback({ to: first, objects: ['app/new'] })],
  ['/api/v2/rollback', 409, () => rollback({ to: 'main', objects: ['app/bad'] })],
  ['/api/v2/changes', 200, () => post('/api/v2/changes?dry_run=true', { changes: [DELETE] })],
  ['/api/v2/changes', 202, () => post('/api/v2/changes', { changes: [DELETE] })],
  ['/api/v2/changes', 400, () => post('/api/v2/changes', { changes: [{ ...DELETE, name: 'nope' }] })],
  ['/api/v2/files/{kind}/{name}', 200, () => get(FILE)],
  ['/api/v2/files/{kind}/{name}', 200, () => put(`${FILE}?dry_run=true`, TEXT, any)],
  ['/api/v2/files/{kind}/{name}', 202, () => put(FILE, TEXT, any)],
  ['/api/v2/files/{kind}/{name}', 409, () => put(FILE, { text: '' }, any)],
  ['/api/v2/files/{kind}/{name}', 428, () => put(FILE, TEXT)],
];

describe('The document at /openapi.json', () => {
  const manager = suiteManager({ files: SMALL_FLEET }, addCommits);

  it.each(CASES)('has every member of a reply of %s with status %i', async (route, status, request) => {
    const { method, path, ...options } = request(await manager().repository.git('rev-parse', 'first'));
    const reply = await manager().request(method, path, options);
    expect([reply.status, reply.body]).toEqual([status, expect.anything()]);
    const document = (await manager().get('/openapi.json')).body;
    const documented = document.paths[route][method.toLowerCase()].responses[status];
    const members = Object.keys(reply.body);
    const matches = alternatives(document, documented?.content['application/json'].schema ?? {}).filter(
      ({ properties = {}, required = [] }) =>
        members.every((member) => member in properties) &&
        required.every((member) => members.includes(member)),
    );
    expect({ members, isDocumented: matches.length > 0 }).toEqual({ members, isDocumented: true });
  });
});
