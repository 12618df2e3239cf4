import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';

/** Every line of the table of endpoints: method, path, success status, and whether it takes a body. */
const ENDPOINTS: readonly (readonly [string, string, number, boolean])[] = [
  ['GET', '/api/v2/status', 200, false],
  ['POST', '/api/v2/apps/{app_name}', 200, true],
  ['DELETE', '/api/v2/apps/{app_name}', 200, false],
  ['GET', '/api/v2/apps', 200, false],
  ['GET', '/api/v2/apps/{app_name}', 200, false],
  ['POST', '/api/v2/apps/{app_name}/stop', 202, false],
  ['POST', '/api/v2/apps/{app_name}/start', 202, false],
  ['POST', '/api/v2/apps/{app_name}/restart', 202, false],
  ['POST', '/api/v2/prune', 202, false],
  ['POST', '/api/v2/apps/{app_name}/update', 202, true],
  ['PUT', '/api/v2/apps/{app_name}/update', 202, true],
  ['PATCH', '/api/v2/apps/{app_name}/update', 202, true],
  ['GET', '/api/v2/device_groups/{device_group_name}/info', 200, false],
  ['GET', '/api/v2/device_groups/{device_group_name}', 200, false],
  ['GET', '/api/v2/device_groups', 200, false],
  ['POST', '/api/v2/device_groups/{device_group_name}', 200, true],
  ['DELETE', '/api/v2/device_groups/{device_group_name}', 200, false],
  ['POST', '/api/v2/device_groups/{device_group_name}/update', 202, true],
  ['PUT', '/api/v2/device_groups/{device_group_name}/update', 202, true],
  ['PATCH', '/api/v2/device_groups/{device_group_name}/update', 202, true],
  ['POST', '/api/v2/device_groups/{device_group_name}/prune', 202, false],
  ['GET', '/api/v2/reports', 200, false],
  ['POST', '/api/v2/reports', 200, true],
  ['GET', '/api/v2/reconcile', 200, false],
  ['POST', '/api/v2/reconcile', 200, false],
];

type Schema = Record<string, unknown>;

interface Operation {
  operationId?: string;
  summary?: string;
  tags?: string[];
  security?: unknown[];
  responses: Record<
    string,
    { description?: string; content?: Record<string, { schema: Schema }>; headers?: Record<string, unknown> }
  >;
  requestBody?: { content: Record<string, { schema: Schema }> };
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[];
}

describe('the description at /openapi.json tells what the tables tell', () => {
  const manager = suiteManager({ files: SMALL_FLEET });
  const description = async () => (await manager().get('/openapi.json')).body;
  const operation = async (method: string, path: string): Promise<Operation | undefined> =>
    (await description()).paths[path]?.[method.toLowerCase()];

  it.each(ENDPOINTS)('%s %s | %i', async (method, path, status, takesBody) => {
    const found = await operation(method, path);
    expect(found, 'is described').toBeDefined();
    expect(Object.keys(found?.responses ?? {}).filter((code) => code.startsWith('2'))).toEqual([
      String(status),
    ]);
    expect(found?.requestBody !== undefined).toBe(takesBody);
    const inPath = (found?.parameters ?? [])
      .filter((one) => one.in === 'path')
      .map(({ name }) => `{${name}}`);
    expect(inPath).toEqual(path.match(/\{\w+\}/g) ?? []);
  });

  it('Reports query: all query parameters are optional', async () => {
    const query =
      (await operation('GET', '/api/v2/reports'))?.parameters?.filter((one) => one.in === 'query') ?? [];
    expect(query.map(({ name }) => name).sort()).toEqual([
      'device_group',
      'hostname',
      'last_id',
      'page_size',
      'report_creation_time',
      'report_creation_time_filter',
      'updated',
    ]);
    expect(query.filter(({ required }) => required === true)).toEqual([]);
  });

  it('Reports query: types, ranges, defaults and the values that are taken', async () => {
    const query = (await operation('GET', '/api/v2/reports'))?.parameters ?? [];
    const schemaOf = (name: string): Schema => query.find((one) => one.name === name)?.schema ?? {};
    expect(schemaOf('page_size')).toMatchObject({ type: 'integer', minimum: 1, maximum: 1000, default: 10 });
    expect(schemaOf('report_creation_time')).toMatchObject({ type: 'integer', minimum: 0 });
    expect(schemaOf('report_creation_time_filter')['enum']).toEqual(['eq', 'gt', 'lt', 'gte', 'lte', 'ne']);
    expect(schemaOf('updated')['enum']).toEqual(['true', 'false', 'True', 'False']);
    const lastId = new RegExp(String(schemaOf('last_id')['pattern']));
    for (const text of ['0123456789abcdefABCDEF01', '{"$oid": "0123456789abcdef01234567"}'])
      expect(lastId.test(text), text).toBe(true);
    expect(lastId.test('0123')).toBe(false);
  });

  it('Reports query: clients that send each default of the description get what those get that send none', async () => {
    const query = (await operation('GET', '/api/v2/reports'))?.parameters ?? [];
    const defaults = query
      .filter(({ schema }) => 'default' in schema)
      .map(({ name, schema }) => `${name}=${schema['default']}`);
    expect(defaults).toEqual(['page_size=10']);
    const reply = await manager().get(`/api/v2/reports?${defaults.join('&')}`);
    expect([reply.status, reply.text]).toEqual([200, (await manager().get('/api/v2/reports')).text]);
    const filter = query.find(({ name }) => name === 'report_creation_time_filter');
    expect(filter).toMatchObject({ description: expect.stringContaining('eq') });
  });

  it.each([
    ['/api/v2/apps/{app_name}', 'post', ['app_name', 'app_id', '_id']],
    ['/api/v2/apps/{app_name}/update', 'post', ['app_name', 'app_id', '_id']],
    ['/api/v2/apps/{app_name}/update', 'patch', ['app_name', 'app_id', '_id']],
    [
      '/api/v2/device_groups/{device_group_name}/update',
      'put',
      ['device_group', 'device_group_id', 'prune_id', '_id'],
    ],
  ])('a record that was read can be sent back: %s %s', async (path, method, ignored) => {
    const reference = (await operation(method, path))?.requestBody?.content['application/json']?.schema;
    const body = (await description()).components.schemas[
      String(reference?.['$ref']).split('/').at(-1) ?? ''
    ];
    expect(body.additionalProperties).toBe(false);
    expect(Object.keys(body.properties)).toEqual(expect.arrayContaining(ignored));
  });

  it('X-Request-Id: any text may be sent; one that fits no log is replaced', async () => {
    const { parameters = [] } = (await operation('GET', '/api/v2/apps')) ?? {};
    const found = parameters.find(({ name }) => name === 'X-Request-Id');
    expect(found).toMatchObject({ schema: { type: 'string' }, description: expect.stringContaining('64') });
    expect(found?.schema).not.toHaveProperty('pattern');
    const reply = await manager().get('/api/v2/apps', { headers: { 'x-request-id': 'two words' } });
    expect([reply.status, reply.headers.get('x-request-id')]).toEqual([
      200,
      expect.stringMatching(/^[0-9a-f]{32}$/),
    ]);
  });

  it.each([
    ['patch', '/api/v2/apps/{app_name}/update'],
    ['put', '/api/v2/device_groups/{device_group_name}/update'],
  ])('a partial update has at least one field: %s %s', async (method, path) => {
    const reference = (await operation(method, path))?.requestBody?.content['application/json']?.schema;
    const { schemas } = (await description()).components;
    expect(schemas[String(reference?.['$ref']).split('/').at(-1) ?? ''].minProperties).toBe(1);
  });

  it('probes need no credentials, everything else does', async () => {
    const { paths, security } = await description();
    expect(security).toEqual([{ basic: [] }]);
    const open = Object.entries(paths as Record<string, Record<string, Operation>>)
      .filter(([, operations]) => Object.values(operations).some((one) => one.security?.length === 0))
      .map(([path]) => path);
    expect(open.sort()).toEqual(['/healthz', '/readyz']);
  });

  it.each([
    ['/api/v2/device_groups/{device_group_name}/info', '503'],
    ['/metrics', '200'],
  ])('%s %s is plain text', async (path, status) => {
    const reply = (await operation('GET', path))?.responses[status];
    expect(Object.keys(reply?.content ?? {})).toEqual(['text/plain']);
  });

  it.each([
    [
      'GET',
      '/api/v2/apps/{app_name}',
      ['If-None-Match', 'X-Request-Id'],
      '200',
      ['ETag', 'Holdfast-Revision', 'X-Request-Id'],
    ],
    [
      'GET',
      '/api/v2/device_groups/{device_group_name}',
      ['If-None-Match', 'X-Request-Id'],
      '304',
      ['ETag', 'Holdfast-Revision', 'X-Request-Id'],
    ],
    [
      'PUT',
      '/api/v2/apps/{app_name}/update',
      ['If-Match', 'X-Request-Id'],
      '202',
      ['ETag', 'Holdfast-Revision', 'X-Request-Id'],
    ],
    [
      'POST',
      '/api/v2/device_groups/{device_group_name}/prune',
      ['If-Match', 'X-Request-Id'],
      '202',
      ['ETag', 'Holdfast-Revision', 'X-Request-Id'],
    ],
    [
      'GET',
      '/api/v2/device_groups/{device_group_name}/info',
      ['If-None-Match', 'X-Request-Id'],
      '304',
      ['ETag', 'Holdfast-Revision', 'X-Request-Id'],
    ],
    ['GET', '/api/v2/reports', ['X-Request-Id'], '200', ['Holdfast-Revision', 'X-Request-Id']],
    ['GET', '/api/v2/status', ['X-Request-Id'], '200', ['X-Request-Id']],
  ])('%s %s: headers of request and reply', async (method, path, asked, status, told) => {
    const found = await operation(method, path);
    const names = (found?.parameters ?? []).filter((one) => one.in === 'header').map(({ name }) => name);
    expect(names.sort()).toEqual(asked);
    expect(Object.keys(found?.responses[status]?.headers ?? {}).sort()).toEqual(told);
  });

  it.each([
    ['/api/v2/apps/{app_name}', true],
    ['/api/v2/device_groups/{device_group_name}', true],
    ['/api/v2/device_groups/{device_group_name}/info', false],
  ])('GET %s: whether its ETag is one for If-Match: %s', async (path, isOne) => {
    const header = (await operation('GET', path))?.responses['200']?.headers?.['ETag'];
    expect(/for If-None-Match and If-Match/.test(JSON.stringify(header))).toBe(isOne);
  });

  it.each([
    ['POST', '/api/v2/prune', ['202', '401', '403', '413', '415', '500', '503']],
    [
      'POST',
      '/api/v2/device_groups/{device_group_name}/prune',
      ['202', '400', '401', '403', '412', '413', '415', '500', '503'],
    ],
    ['POST', '/api/v2/reports', ['200', '400', '401', '403', '413', '415', '500', '503']],
    ['POST', '/api/v2/reconcile', ['200', '401', '403', '413', '415', '500', '503']],
  ])('%s %s: the statuses that can be', async (method, path, statuses) => {
    expect(Object.keys((await operation(method, path))?.responses ?? {}).sort()).toEqual(statuses);
  });

  /** Every operation, by method and path. */
  const operations = async (): Promise<[place: string, operation: Operation][]> =>
    Object.entries((await description()).paths as Record<string, Record<string, Operation>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, one]): [string, Operation] => [`${method} ${path}`, one]),
    );

  it('every operation has a name of its own, from which clients name their methods', async () => {
    const names = (await operations()).map(([, { operationId }]) => operationId);
    expect(names.filter((name) => !/^[a-z][A-Za-z]+$/.test(name ?? ''))).toEqual([]);
    expect(names).toEqual([...new Set(names)]);
    expect(names.length).toBeGreaterThan(ENDPOINTS.length);
  });

  it('every operation has a summary, and a tag that is explained', async () => {
    const explained = (await description()).tags.map(({ name }: { name: string }) => name);
    for (const [place, { summary, tags }] of await operations()) {
      expect(summary, place).toMatch(/\w+/);
      expect(explained, place).toContain(tags?.[0]);
    }
  });

  it('every reply says when it comes', async () => {
    for (const [place, { responses }] of await operations())
      for (const [status, reply] of Object.entries(responses))
        expect(reply.description, `${place} ${status}`).toMatch(/^(?!Default Response)\S.+\.$/);
  });

  it('every body of JSON has a type with a name', async () => {
    const isNamed = (schema: Schema | undefined): boolean =>
      schema !== undefined &&
      ('$ref' in schema ||
        isNamed(schema['items'] as Schema | undefined) ||
        ((schema['anyOf'] as Schema[] | undefined)?.every(isNamed) ?? false));
    for (const [place, { responses, requestBody }] of await operations())
      for (const { content } of [...Object.values(responses), { content: requestBody?.content }]) {
        const schema = content?.['application/json']?.schema;
        if (schema !== undefined) expect(isNamed(schema), `${place}: ${JSON.stringify(schema)}`).toBe(true);
      }
  });

  it('a reply may have more fields in a later version; a request may not', async () => {
    const { schemas } = (await description()).components as { schemas: Record<string, Schema> };
    const closed = Object.keys(schemas).filter((name) =>
      JSON.stringify(schemas[name]).includes('"additionalProperties":false'),
    );
    expect(closed.sort()).toEqual([
      'AppChangeInput',
      'AppFieldsInput',
      'DeviceGroupChangeInput',
      'DeviceGroupFieldsInput',
    ]);
  });

  it('whole numbers that need more than 32 bits say so: generated clients take others for short', async () => {
    const short: string[] = [];
    const walk = (part: unknown, place: string): void => {
      if (typeof part !== 'object' || part === null) return;
      const { type, maximum, format } = part as Schema;
      const isLong = type === 'integer' && !(Number(maximum) < 2 ** 31);
      if (isLong && format !== 'int64') short.push(place);
      for (const [key, value] of Object.entries(part)) walk(value, `${place}/${key}`);
    };
    const document = await description();
    walk(document, '');
    expect(short).toEqual([]);
    const { app_id, starting_ports } = document.components.schemas.App.properties;
    expect([app_id.format, starting_ports.items.anyOf[0].format]).toEqual(['int64', undefined]);
  });

  it('every pattern can be read in other languages, too: most take a zero behind a backslash for octal', async () => {
    const text = JSON.stringify(await description());
    expect(text).toContain('"pattern":');
    expect(text).not.toContain(String.raw`\\0`);
  });

  it('every schema is used', async () => {
    const document = await description();
    const { schemas } = document.components;
    expect(Object.keys(schemas)).not.toEqual([]);
    for (const name of Object.keys(schemas))
      expect(JSON.stringify(document)).toContain(`{"$ref":"#/components/schemas/${name}"}`);
  });

  it('every reference leads somewhere', async () => {
    const document = await description();
    const references = JSON.stringify(document).match(/"\$ref":"[^"]+"/g) ?? [];
    for (const text of new Set(references)) {
      const steps = (JSON.parse(`{${text}}`) as { $ref: string }).$ref.replace(/^#\//, '').split('/');
      const target = steps.reduce<unknown>(
        (value, step) => (value as Record<string, unknown>)?.[step],
        document,
      );
      expect(target, text).toBeDefined();
    }
    expect(references.length).toBeGreaterThan(0);
  });
});
