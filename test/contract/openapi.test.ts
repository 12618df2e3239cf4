import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';

/** Method, path, success status and whether there is a body (docs/contract.md, 4.1 and 4.5). */
const ENDPOINTS: readonly (readonly [string, string, number, 'a body' | 'no body'])[] = [
  ['GET', '/api/v2/status', 200, 'no body'],
  ['POST', '/api/v2/apps/{app_name}', 200, 'a body'],
  ['DELETE', '/api/v2/apps/{app_name}', 200, 'no body'],
  ['GET', '/api/v2/apps', 200, 'no body'],
  ['GET', '/api/v2/apps/{app_name}', 200, 'no body'],
  ['POST', '/api/v2/apps/{app_name}/stop', 202, 'no body'],
  ['POST', '/api/v2/apps/{app_name}/start', 202, 'no body'],
  ['POST', '/api/v2/apps/{app_name}/restart', 202, 'no body'],
  ['POST', '/api/v2/prune', 202, 'no body'],
  ['POST', '/api/v2/apps/{app_name}/update', 202, 'a body'],
  ['PUT', '/api/v2/apps/{app_name}/update', 202, 'a body'],
  ['PATCH', '/api/v2/apps/{app_name}/update', 202, 'a body'],
  ['GET', '/api/v2/device_groups/{device_group_name}/info', 200, 'no body'],
  ['GET', '/api/v2/device_groups/{device_group_name}', 200, 'no body'],
  ['GET', '/api/v2/device_groups', 200, 'no body'],
  ['POST', '/api/v2/device_groups/{device_group_name}', 200, 'a body'],
  ['DELETE', '/api/v2/device_groups/{device_group_name}', 200, 'no body'],
  ['POST', '/api/v2/device_groups/{device_group_name}/update', 202, 'a body'],
  ['PUT', '/api/v2/device_groups/{device_group_name}/update', 202, 'a body'],
  ['PATCH', '/api/v2/device_groups/{device_group_name}/update', 202, 'a body'],
  ['POST', '/api/v2/device_groups/{device_group_name}/prune', 202, 'no body'],
  ['GET', '/api/v2/reports', 200, 'no body'],
  ['POST', '/api/v2/reports', 200, 'a body'],
  ['GET', '/api/v2/reconcile', 200, 'no body'],
  ['POST', '/api/v2/reconcile', 200, 'no body'],
];

const APP = '/api/v2/apps/{app_name}';
const GROUP = '/api/v2/device_groups/{device_group_name}';
const TAGGED = ['ETag', 'Holdfast-Revision', 'X-Request-Id'];
const UNTAGGED = ['Holdfast-Revision', 'X-Request-Id'];
const POLLED = [...TAGGED, 'Holdfast-Device-Group'].sort();

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

describe('the document at /openapi.json', () => {
  const manager = suiteManager({ files: SMALL_FLEET });
  const fetchDocument = async () => (await manager().get('/openapi.json')).body;
  const operation = async (method: string, path: string): Promise<Operation | undefined> =>
    (await fetchDocument()).paths[path]?.[method.toLowerCase()];

  /** The schema of the JSON body of a request. */
  const bodySchema = async (method: string, path: string): Promise<Schema> => {
    const reference = (await operation(method, path))?.requestBody?.content['application/json']?.schema;
    const name = String(reference?.['$ref']).split('/').at(-1) ?? '';
    return (await fetchDocument()).components.schemas[name];
  };

  it.each(ENDPOINTS)('describes %s %s: success status %i, %s', async (method, path, status, body) => {
    const found = await operation(method, path);
    expect(found, 'is described').toBeDefined();
    const { responses = {}, requestBody, parameters = [] } = found ?? {};
    expect(Object.keys(responses).filter((code) => code.startsWith('2'))).toEqual([String(status)]);
    expect(requestBody === undefined ? 'no body' : 'a body').toBe(body);
    const inPath = parameters.filter((one) => one.in === 'path').map(({ name }) => `{${name}}`);
    expect(inPath).toEqual(path.match(/\{\w+\}/g) ?? []);
  });

  it('has a strong ETag, and is a 304 for clients that have it', async () => {
    const first = await manager().get('/openapi.json', { authorization: null });
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[^"]+"$/);
    const again = await manager().get('/openapi.json', { headers: { 'if-none-match': etag } });
    expect([again.status, again.text]).toEqual([304, '']);
    const other = await manager().get('/openapi.json', { headers: { 'if-none-match': '"other"' } });
    expect([other.status, other.text]).toEqual([200, first.text]);
    const head = await manager().request('HEAD', '/openapi.json');
    expect([head.text, head.headers.get('content-length')]).toEqual([
      '',
      String(Buffer.byteLength(first.text)),
    ]);
  });

  it('describes the reports query: all query parameters are optional', async () => {
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

  it('describes the parameters of the reports query: types, ranges, defaults and accepted values', async () => {
    const query = (await operation('GET', '/api/v2/reports'))?.parameters ?? [];
    const schemaOf = (name: string): Schema => query.find((one) => one.name === name)?.schema ?? {};
    expect(schemaOf('page_size')).toMatchObject({ type: 'integer', minimum: 1, maximum: 1000, default: 10 });
    expect(schemaOf('report_creation_time')).toMatchObject({ type: 'integer', minimum: 0 });
    expect(schemaOf('report_creation_time_filter')['enum']).toEqual(['eq', 'gt', 'lt', 'gte', 'lte', 'ne']);
    expect(schemaOf('updated')).toEqual({ type: 'boolean' });
    const lastId = new RegExp(String(schemaOf('last_id')['pattern']));
    for (const text of ['0123456789abcdefABCDEF01', '{"$oid": "0123456789abcdef01234567"}'])
      expect(lastId.test(text), text).toBe(true);
    expect(lastId.test('0123')).toBe(false);
  });

  it('describes defaults of the reports query that can be sent without changing the reply', async () => {
    const query = (await operation('GET', '/api/v2/reports'))?.parameters ?? [];
    const defaults = query
      .filter(({ schema }) => 'default' in schema)
      .map(({ name, schema }) => `${name}=${schema['default']}`);
    expect(defaults).toEqual(['page_size=10']);
    const reply = await manager().get(`/api/v2/reports?${defaults.join('&')}`);
    expect([reply.status, reply.text]).toEqual([200, (await manager().get('/api/v2/reports')).text]);
    // As a default in the schema, it would be sent without report_creation_time, which is an error.
    const filter = query.find(({ name }) => name === 'report_creation_time_filter');
    expect(filter).toMatchObject({ description: expect.stringContaining('eq') });
  });

  it.each([
    [APP, 'post', ['app_name', 'app_id', '_id']],
    [`${APP}/update`, 'post', ['app_name', 'app_id', '_id']],
    [`${APP}/update`, 'patch', ['app_name', 'app_id', '_id']],
    [`${GROUP}/update`, 'put', ['device_group', 'device_group_id', 'prune_id', '_id']],
  ])(
    'allows the ignored fields of a record in a body, so that it can be sent back: %s %s',
    async (path, method, ignored) => {
      const body = await bodySchema(method, path);
      expect(body['additionalProperties']).toBe(false);
      expect(Object.keys(body['properties'] as Schema)).toEqual(expect.arrayContaining(ignored));
    },
  );

  it('allows any text as X-Request-Id, as the manager does: it replaces an id that is unsafe in logs', async () => {
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

  it('describes what the worker reports, beside reports of any other form, which are accepted, too', async () => {
    const { schemas } = (await fetchDocument()).components;
    const { anyOf: forms } = schemas.SentReport ?? schemas.SentReportInput;
    expect(forms).toEqual([
      { $ref: expect.stringMatching(/\/WorkerReport(Input)?$/) },
      { $ref: expect.stringMatching(/\/Report(Input)?$/) },
    ]);
    const { properties } = schemas.WorkerReport ?? schemas.WorkerReportInput;
    const members = ['worker', 'applied', 'revision', 'apps', 'ids', 'problems', 'reports_dropped'];
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(members));
    const body = { hostname: 'a', device_group: 'b', report_creation_time: 1, worker: 7, apps: 'none' };
    expect((await manager().post('/api/v2/reports', body)).body).toEqual({ accepted: 1 });
  });

  it.each([
    ['patch', `${APP}/update`, 'container_image', ['app_name', 'app_id', '_id']],
    ['put', `${GROUP}/update`, 'apps', ['device_group', 'device_group_id', 'prune_id', '_id']],
  ])(
    'requires a field that is not ignored in a partial update: %s %s',
    async (method, path, field, ignored) => {
      const schema = await bodySchema(method, path);
      expect(Object.keys(schema['properties'] as Schema)).toContain(field);
      expect((schema['not'] as { propertyNames: { enum: string[] } }).propertyNames.enum.sort()).toEqual(
        ignored.sort(),
      );
    },
  );

  it('requires credentials for everything but the probes', async () => {
    const { paths, security } = await fetchDocument();
    expect(security).toEqual([{ basic: [] }]);
    const open = Object.entries(paths as Record<string, Record<string, Operation>>)
      .filter(([, operations]) => Object.values(operations).some((one) => one.security?.length === 0))
      .map(([path]) => path);
    expect(open.sort()).toEqual(['/healthz', '/readyz']);
  });

  it.each([
    [`${GROUP}/info`, '503'],
    ['/metrics', '200'],
  ])('describes the reply of GET %s with status %s as plain text', async (path, status) => {
    const reply = (await operation('GET', path))?.responses[status];
    expect(Object.keys(reply?.content ?? {})).toEqual(['text/plain']);
  });

  it.each([
    ['GET', APP, ['If-None-Match', 'X-Request-Id'], '200', TAGGED],
    ['GET', GROUP, ['If-None-Match', 'X-Request-Id'], '304', TAGGED],
    ['PUT', `${APP}/update`, ['Holdfast-Base', 'If-Match', 'X-Request-Id'], '202', TAGGED],
    ['POST', `${GROUP}/prune`, ['Holdfast-Base', 'If-Match', 'X-Request-Id'], '202', TAGGED],
    ['GET', `${GROUP}/info`, ['Holdfast-Device', 'If-None-Match', 'X-Request-Id'], '200', POLLED],
    ['GET', `${GROUP}/info`, ['Holdfast-Device', 'If-None-Match', 'X-Request-Id'], '304', POLLED],
    ['GET', `${GROUP}/info`, ['Holdfast-Device', 'If-None-Match', 'X-Request-Id'], '403', UNTAGGED],
    ['GET', '/api/v2/reports', ['X-Request-Id'], '200', UNTAGGED],
    ['GET', '/api/v2/status', ['X-Request-Id'], '200', ['X-Request-Id']],
  ])(
    'lists the headers of request and reply: %s %s',
    async (method, path, requestHeaders, status, replyHeaders) => {
      const found = await operation(method, path);
      const names = (found?.parameters ?? []).filter((one) => one.in === 'header').map(({ name }) => name);
      expect(names.sort()).toEqual(requestHeaders);
      expect(Object.keys(found?.responses[status]?.headers ?? {}).sort()).toEqual(replyHeaders);
    },
  );

  it.each([
    [APP, true],
    [GROUP, true],
    [`${GROUP}/info`, false],
  ])('says of the ETag of GET %s whether it can be sent as If-Match: %s', async (path, isForIfMatch) => {
    const header = (await operation('GET', path))?.responses['200']?.headers?.['ETag'];
    expect(/for If-None-Match and If-Match/.test(JSON.stringify(header))).toBe(isForIfMatch);
  });

  it.each([
    ['POST', '/api/v2/prune', ['202', '400', '401', '403', '404', '412', '413', '415', '421', '500', '503']],
    ['POST', `${GROUP}/prune`, ['202', '400', '401', '403', '404', '412', '413', '415', '421', '500', '503']],
    ['POST', '/api/v2/reports', ['200', '400', '401', '403', '413', '415', '421', '500', '503']],
    ['POST', '/api/v2/reconcile', ['200', '400', '401', '403', '413', '415', '421', '500', '503']],
  ])('lists every possible status: %s %s', async (method, path, statuses) => {
    const responses = Object.keys((await operation(method, path))?.responses ?? {});
    expect(responses.sort()).toEqual([...statuses, '408'].sort());
  });

  it('describes the reply to a request that takes too long once, and refers to it from every operation', async () => {
    for (const [title, { responses }] of await operations())
      expect(responses['408'], title).toHaveProperty('$ref');
    const { responses } = (await fetchDocument()).components;
    expect(
      Object.values(responses as Operation['responses']).map(({ content }) => Object.keys(content ?? {})),
    ).toEqual([['text/plain']]);
  });

  it('names the header that asks for credentials wherever credentials are needed', async () => {
    for (const [title, { responses, security }] of await operations()) {
      if (security?.length === 0) continue;
      expect(responses['401']?.headers, title).toHaveProperty('WWW-Authenticate');
    }
    const reply = await manager().get('/metrics', { authorization: null });
    expect([reply.status, reply.headers.has('www-authenticate')]).toEqual([401, true]);
  });

  /** Every operation, with its method and path. */
  const operations = async (): Promise<[title: string, operation: Operation][]> =>
    Object.entries((await fetchDocument()).paths as Record<string, Record<string, Operation>>).flatMap(
      ([path, methods]) =>
        Object.entries(methods).map(([method, one]): [string, Operation] => [`${method} ${path}`, one]),
    );

  it('gives every operation a unique id, after which generated clients name their methods', async () => {
    const names = (await operations()).map(([, { operationId }]) => operationId);
    expect(names.filter((name) => !/^[a-z][A-Za-z]+$/.test(name ?? ''))).toEqual([]);
    expect(names).toEqual([...new Set(names)]);
    expect(names.length).toBeGreaterThan(ENDPOINTS.length);
  });

  it('gives every operation a summary, and a tag that is described', async () => {
    const described = (await fetchDocument()).tags.map(({ name }: { name: string }) => name);
    for (const [title, { summary, tags }] of await operations()) {
      expect(summary, title).toMatch(/\w+/);
      expect(described, title).toContain(tags?.[0]);
    }
  });

  it('gives every reply a description of our own', async () => {
    for (const [title, { responses }] of await operations())
      for (const [status, reply] of Object.entries(responses).filter(([, one]) => !('$ref' in one)))
        expect(reply.description, `${title} ${status}`).toMatch(/^(?!Default Response)\S.+\.$/);
  });

  it('gives every JSON body a named type', async () => {
    for (const [title, { responses, requestBody }] of await operations())
      for (const { content } of [...Object.values(responses), { content: requestBody?.content }]) {
        const schema = content?.['application/json']?.schema;
        if (schema !== undefined) expect(schema, title).toHaveProperty('$ref');
      }
  });

  /** Pointers to the unions, and objects with fields, inside a part of the document. */
  const unnamedIn = (part: unknown, pointer: string): string[] => {
    if (typeof part !== 'object' || part === null) return [];
    const { anyOf, properties } = part as { anyOf?: Schema[]; properties?: Schema };
    const isUnion = (anyOf?.filter(({ type }) => type !== 'null') ?? []).length > 1;
    const inside = Object.entries(part).flatMap(([key, value]) => unnamedIn(value, `${pointer}/${key}`));
    return isUnion || properties !== undefined ? [pointer, ...inside] : inside;
  };

  it('names every union and every object with fields, so that generated types have readable names', async () => {
    const { paths, components } = await fetchDocument();
    const unnamed = Object.entries(components.schemas as Record<string, Schema>).flatMap(([name, schema]) => {
      const { properties = {}, ...others } = schema;
      const parts = [...Object.entries(properties as Schema), ...Object.entries(others)];
      return parts.flatMap(([key, value]) => unnamedIn(value, `${name}/${key}`));
    });
    expect([...unnamed, ...unnamedIn(paths, 'paths')]).toEqual([]);
    expect(components.schemas.App.properties.starting_ports.items).toEqual({
      $ref: '#/components/schemas/Port',
    });
  });

  it('uses one type for the parts that requests and replies share', async () => {
    const { App, AppFieldsInput } = (await fetchDocument()).components.schemas;
    expect(AppFieldsInput.properties.starting_ports).toEqual(App.properties.starting_ports);
    expect(AppFieldsInput.properties.env_vars).toEqual(App.properties.env_vars);
  });

  it('gives no type the name of one of its fields, which not every language allows', async () => {
    const schemas: Record<string, Schema> = (await fetchDocument()).components.schemas;
    const clashing = Object.entries(schemas).filter(([name, { properties }]) =>
      Object.keys(properties ?? {}).includes(name.toLowerCase()),
    );
    expect(clashing.map(([name]) => name)).toEqual([]);
  });

  it.each<[string, string, string, (properties: Record<string, Schema>) => unknown]>([
    ['an image', 'container_image', '"nginx\\u0000"', ({ container_image }) => container_image],
    ['a volume', 'volumes', '["/a:/b\\u0000"]', ({ volumes }) => volumes?.['items']],
    ['a network', 'networks', '["a\\u0000"]', ({ networks }) => networks?.['items']],
    ['a device', 'devices', '["/a:/b\\u0000"]', ({ devices }) => devices?.['items']],
  ])(
    'excludes NUL characters by a pattern, as the manager does: %s',
    async (_title, field, value, textOf) => {
      const { schemas } = (await fetchDocument()).components;
      expectPatternWithoutNul(textOf(schemas.AppFieldsInput.properties), value);
      expect((await createWith(field, value)).status).toBe(400);
    },
  );

  it('excludes NUL characters by a pattern, as the manager does: a variable and its name', async () => {
    const { propertyNames, additionalProperties } = (await fetchDocument()).components.schemas.EnvVars;
    expectPatternWithoutNul(propertyNames, '"A\\u0000"');
    expectPatternWithoutNul(additionalProperties, '"\\u0000"');
    for (const value of ['{"A\\u0000": "a"}', '{"A": "\\u0000"}'])
      expect((await createWith('env_vars', value)).status, value).toBe(400);
  });

  /** `value` is a JSON value with one text that has a NUL, without which the text is valid. */
  const expectPatternWithoutNul = (schema: unknown, value: string): void => {
    const pattern = new RegExp(String((schema as Schema)['pattern']));
    const [text] = [JSON.parse(value)].flat();
    expect([pattern.test(text), pattern.test(text.replace('\0', ''))], String(pattern)).toEqual([
      false,
      true,
    ]);
  };

  const createWith = (field: string, value: string) =>
    manager().post('/api/v2/apps/nul', { container_image: 'nginx', [field]: JSON.parse(value) });

  it('allows unknown fields in replies, for later versions, but not in requests', async () => {
    const { schemas } = (await fetchDocument()).components as { schemas: Record<string, Schema> };
    const closed = Object.keys(schemas).filter((name) =>
      JSON.stringify(schemas[name]).includes('"additionalProperties":false'),
    );
    expect(closed.sort()).toEqual([
      'AppChangeInput',
      'AppFieldsInput',
      'AskAnswerInput',
      'AskLogsInput',
      'AskRetryInput',
      'ChangeInput',
      'ChangesInput',
      'ContainersPerInput',
      'DeviceChangeInput',
      'DeviceFieldsInput',
      'DeviceGroupChangeInput',
      'DeviceGroupFieldsInput',
      'FileTextInput',
      'HealthcheckInput',
      'LoggingInput',
      'RollbackRequestInput',
      'UlimitPairInput',
      'UlimitsInput',
    ]);
  });

  it('gives integers above 32 bits the format int64, without which generated clients use 32 bits', async () => {
    const withoutFormat: string[] = [];
    const walk = (part: unknown, pointer: string): void => {
      if (typeof part !== 'object' || part === null) return;
      const { type, maximum, format } = part as Schema;
      const isLong = type === 'integer' && !(Number(maximum) < 2 ** 31);
      if (isLong && format !== 'int64') withoutFormat.push(pointer);
      for (const [key, value] of Object.entries(part)) walk(value, `${pointer}/${key}`);
    };
    const document = await fetchDocument();
    walk(document, '');
    expect(withoutFormat).toEqual([]);
    const { App, Port } = document.components.schemas;
    expect([App.properties.app_id.format, Port.anyOf[0].format]).toEqual(['int64', undefined]);
  });

  it(String.raw`uses no \0 in patterns, which most other languages read as octal`, async () => {
    const text = JSON.stringify(await fetchDocument());
    expect(text).toContain('"pattern":');
    expect(text).not.toContain(String.raw`\\0`);
  });

  it('refers to every schema', async () => {
    const document = await fetchDocument();
    const { schemas } = document.components;
    expect(Object.keys(schemas)).not.toEqual([]);
    for (const name of Object.keys(schemas))
      expect(JSON.stringify(document)).toContain(`"$ref":"#/components/schemas/${name}"`);
  });

  it('has a target for every reference', async () => {
    const document = await fetchDocument();
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
