import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';
import { OID, REASON, report } from './expected.ts';

const REPORTS = '/api/v2/reports';

function idOf(one: Record<string, unknown> = {}): string {
  return (one['_id'] as { $oid: string }).$oid;
}

type Page = { data: Record<string, unknown>[]; last_id: { $oid: string } | null };

/** Follows `last_id` from the first page to the last. */
async function pagesOf(manager: TestManager, query: string): Promise<Page[]> {
  const pages: Page[] = [];
  for (let after = ''; pages.length < 50; ) {
    const { status, body } = await manager.get(`${REPORTS}?${query}${after}`);
    expect(status).toBe(200);
    pages.push(body);
    if (body.last_id === null) return pages;
    after = `&last_id=${body.last_id.$oid}`;
  }
  throw new Error('there is no last page');
}

describe('docs/contract.md, 9.2: Querying', () => {
  const FLEET = [
    report('a', 100, { updated: true }),
    report('b', 200, { updated: false }),
    report('a', 200, { device_group: 'lab' }),
    report('c', 300, { updated: true }),
    report('a b&c=d\u00e9', 400),
    report('a', 300, { updated: 'true' }),
  ];
  const manager = suiteManager({ files: SMALL_FLEET }, (m) => m.post(REPORTS, FLEET));
  const find = async (query: string): Promise<Record<string, unknown>[]> => {
    const { status, body } = await manager().get(`${REPORTS}?${query}`);
    expect(status, query).toBe(200);
    return body.data;
  };

  it('200 with the report page: data and last_id', async () => {
    const { status, body } = await manager().get(REPORTS);
    expect(status).toBe(200);
    expect(body).toEqual({
      data: FLEET.map((one) => ({ ...one, _id: OID, received_at: expect.any(String) })),
      last_id: null,
    });
  });

  it.each(['GET', 'HEAD'])('200 with the content type of JSON, and a length: %s', async (method) => {
    const { status, headers } = await manager().request(method, REPORTS);
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(headers.get('content-length')).toBe(
      String(Buffer.byteLength((await manager().get(REPORTS)).text)),
    );
  });

  it('hostname: exact match', async () => {
    expect((await find('hostname=a')).map((one) => one['report_creation_time'])).toEqual([100, 200, 300]);
    expect(await find(`hostname=${encodeURIComponent('a b&c=d\u00e9')}`)).toHaveLength(1);
    for (const other of ['A', 'a%25', '%25', '*', '.*', 'a%00'])
      expect(await find(`hostname=${other}`), other).toEqual([]);
  });

  it('device_group: exact match', async () => {
    expect(await find('device_group=lab')).toHaveLength(1);
    expect(await find('device_group=LAB')).toEqual([]);
    expect(await find('device_group=lab&hostname=b')).toEqual([]);
  });

  it.each([
    ['default eq', [200, 200]],
    ['eq', [200, 200]],
    ['gt', [300, 400, 300]],
    ['gte', [200, 200, 300, 400, 300]],
    ['lt', [100]],
    ['lte', [100, 200, 200]],
    ['ne', [100, 300, 400, 300]],
  ])('report_creation_time: compared using the filter: %s', async (filter, times) => {
    const query = filter === 'default eq' ? '' : `&report_creation_time_filter=${filter}`;
    const found = await find(`report_creation_time=200${query}`);
    expect(found.map((one) => one['report_creation_time'])).toEqual(times);
  });

  it('combines all filters', async () => {
    const query =
      'hostname=a&device_group=edge&report_creation_time=200&report_creation_time_filter=lt&updated=true&page_size=5';
    expect(await find(query)).toEqual([{ ...FLEET[0], _id: OID, received_at: expect.any(String) }]);
  });

  it.each([
    ['true', ['a', 'c']],
    ['True', ['a', 'c']],
    ['false', ['b']],
    ['False', ['b']],
  ])('docs/contract.md, 9.2: updated: extra filter %s', async (value, hosts) => {
    expect((await find(`updated=${value}`)).map((one) => one['hostname'])).toEqual(hosts);
  });

  it('last_id: passing it loads the next page; on the last page it is null', async () => {
    const pages = await pagesOf(manager(), 'page_size=4');
    expect(pages.map(({ data }) => data.length)).toEqual([4, 2]);
    expect(pages.flatMap(({ data }) => data.map((one) => one['hostname']))).toEqual(
      FLEET.map((one) => one.hostname),
    );
  });
});

describe('docs/contract.md, 9.2: Order and paging', () => {
  const manager = suiteManager({ files: SMALL_FLEET }, (m) =>
    m.post(
      REPORTS,
      Array.from({ length: 25 }, (_, index) => report(`h${index % 2}`, 1000 - index)),
    ),
  );

  it('ascending _id, whatever report_creation_time is; page_size default 10', async () => {
    const pages = await pagesOf(manager(), '');
    expect(pages.map(({ data }) => data.length)).toEqual([10, 10, 5]);
    const ids = pages.flatMap(({ data }) => data.map((one) => idOf(one)));
    expect(ids).toEqual([...ids].sort());
    expect(new Set(ids).size).toBe(25);
    const times = pages.flatMap(({ data }) => data.map((one) => one['report_creation_time']));
    expect(times).toEqual(Array.from({ length: 25 }, (_, index) => 1000 - index));
  });

  it.each([
    [1, 25],
    [5, 5],
    [12, 3],
    [24, 2],
    [25, 1],
    [26, 1],
    [1000, 1],
  ])(
    'Last page: last_id is null on the page after which there is nothing more: page_size %i',
    async (size, count) => {
      const pages = await pagesOf(manager(), `page_size=${size}`);
      expect(pages).toHaveLength(count);
      expect(pages.slice(0, -1).every(({ data, last_id }) => last_id?.$oid === idOf(data.at(-1)))).toBe(true);
    },
  );

  it('Last page: of a filtered query, the page after which no other report matches', async () => {
    const pages = await pagesOf(manager(), 'hostname=h1&page_size=4');
    expect(pages.map(({ data }) => data.length)).toEqual([4, 4, 4]);
  });

  it('Last page: a page with no reports has data: []', async () => {
    for (const query of ['hostname=unknown', `last_id=${'f'.repeat(24)}`])
      expect((await manager().get(`${REPORTS}?${query}`)).body).toEqual({ data: [], last_id: null });
  });

  it('last_id parameter: 24 hex digits, or {"$oid": ...} as JSON', async () => {
    const { body: first } = await manager().get(`${REPORTS}?page_size=3`);
    const { $oid } = first.last_id;
    const forms = [$oid, $oid.toUpperCase(), JSON.stringify(first.last_id), `{ "$oid" : "${$oid}" }`];
    const replies = await Promise.all(
      forms.map((form) => manager().get(`${REPORTS}?page_size=3&last_id=${encodeURIComponent(form)}`)),
    );
    for (const { body } of replies) expect(body).toEqual(replies[0]?.body);
    expect(replies[0]?.body.data[0].report_creation_time).toBe(997);
  });

  it.each([
    ['page_size', ['0', '1001', '-1', '1.5', 'ten', '1e2', '0x10', '+5', '%205', '99999999999999999999', '']],
    [
      'last_id',
      [
        'x',
        'abc',
        'f'.repeat(23),
        'f'.repeat(25),
        'g'.repeat(24),
        'null',
        '{}',
        '%7B%22$oid%22:%22x%22%7D',
        '',
      ],
    ],
    ['report_creation_time', ['soon', '1.5', '1e9', '', '9007199254740992', '9'.repeat(400)]],
    ['report_creation_time_filter', ['gt', 'eq', 'like', '$gt', '']],
    ['updated', ['maybe', '1', 'yes', '']],
    ['hostname', ['']],
    ['device_group', ['']],
  ])('anything else 400 invalid_parameters: bad values of %s', async (key, values) => {
    for (const value of values) {
      const reply = await manager().get(`${REPORTS}?${key}=${value}`);
      expect(reply.status, value).toBe(400);
      expect(reply.body, value).toEqual({ invalid_parameters: { [key]: REASON } });
    }
  });

  it('Odd queries: a comparison without a time: 400 invalid_parameters', async () => {
    const { status, body } = await manager().get(`${REPORTS}?report_creation_time_filter=gt`);
    const invalid_parameters = { report_creation_time_filter: 'requires report_creation_time' };
    expect([status, body]).toEqual([400, { invalid_parameters }]);
  });

  it.each([
    ['with a bad value', 'page_size=x', 'must be a whole number'],
    ['that is repeated', 'page_size=1&page_size=1', 'must be given once'],
  ])(
    'reports every bad parameter at once: a parameter %s, and a comparison without a time',
    async (_, query, page_size) => {
      const { body } = await manager().get(`${REPORTS}?${query}&report_creation_time_filter=gt`);
      expect(body).toEqual({
        invalid_parameters: { page_size, report_creation_time_filter: 'requires report_creation_time' },
      });
    },
  );

  it.each(['soon', '1&report_creation_time=1'])(
    'a time that is bad or repeated is reported, but not as one that the comparison lacks: %s',
    async (time) => {
      const query = `report_creation_time=${time}&report_creation_time_filter=gt`;
      const { body } = await manager().get(`${REPORTS}?${query}`);
      expect(body).toEqual({ invalid_parameters: { report_creation_time: REASON } });
    },
  );

  it('anything else 400 invalid_parameters: an unknown comparison with a time', async () => {
    const reply = await manager().get(
      `${REPORTS}?report_creation_time=1&report_creation_time_filter=between`,
    );
    expect(reply.body).toEqual({ invalid_parameters: { report_creation_time_filter: REASON } });
  });

  it.each([
    'page_size',
    'hostname',
    'device_group',
    'report_creation_time',
    'report_creation_time_filter',
    'last_id',
    'updated',
  ])('Odd queries: a repeated key: %s', async (key) => {
    const value = { last_id: 'f'.repeat(24), updated: 'true', report_creation_time_filter: 'gt' }[key] ?? '5';
    const reply = await manager().get(`${REPORTS}?${key}=${value}&${key}=${value}`);
    expect(reply.status).toBe(400);
    expect(reply.body.invalid_parameters).toHaveProperty(key, REASON);
  });

  it.each(['hostname[$ne]=x', 'hostname%5B%24ne%5D=x', '$where=1', 'device_group[$regex]=.*', '%24or=1'])(
    'Odd queries: $ operators: 400 invalid_parameters: %s',
    async (query) => {
      const reply = await manager().get(`${REPORTS}?${query}`);
      const [key = ''] = decodeURIComponent(query).split('=');
      expect([reply.status, reply.body]).toEqual([400, { invalid_parameters: { [key]: REASON } }]);
    },
  );

  it.each(['x=1', 'Hostname=unknown', 'x=1&x=2', '__proto__=1', 'constructor=1', '='])(
    'Odd queries: unknown keys are ignored: %s',
    async (query) => {
      const reply = await manager().get(`${REPORTS}?page_size=1000&${query}`);
      expect(reply.status).toBe(200);
      expect(reply.body.data).toHaveLength(25);
    },
  );
});

it('report_creation_time: a query accepts the greatest value that a report can have', async () => {
  const manager = await startManager({ files: SMALL_FLEET });
  const latest = Number.MAX_SAFE_INTEGER;
  expect((await manager.post(REPORTS, report('late', latest))).status).toBe(200);
  const found = await manager.get(`${REPORTS}?report_creation_time=${latest}`);
  expect(found.body.data).toMatchObject([{ hostname: 'late', report_creation_time: latest }]);
});

// The store returns such a page in parts, and each is sent before the next is read.
describe('a page of large reports', () => {
  const LARGE = Array.from({ length: 120 }, (_, index) => report('a', index, { log: 'ä"'.repeat(15_000) }));
  const manager = suiteManager({ files: SMALL_FLEET }, async (m) => {
    for (const one of LARGE) expect((await m.post(REPORTS, one)).status).toBe(200);
  });

  it('has as many reports as page_size, and a last_id that leads to the others', async () => {
    const pages = await pagesOf(manager(), 'page_size=100');
    expect(pages.map(({ data }) => data.length)).toEqual([100, 20]);
    expect(pages[0]?.last_id).toEqual({ $oid: idOf(pages[0]?.data.at(-1)) });
    const found = pages.flatMap(({ data }) => data).map(({ _id, received_at: _at, ...one }) => one);
    expect(found).toEqual(LARGE);
  });

  it('has null as last_id, and the usual headers, if it is the last', async () => {
    const reply = await manager().get(`${REPORTS}?page_size=120&hostname=a`);
    expect(reply.body.data).toHaveLength(120);
    expect(reply.body.last_id).toBeNull();
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(reply.headers.get('holdfast-revision')).toMatch(/^[0-9a-f]{40}$/);
  });

  it('is not sent for HEAD, only its status', async () => {
    const reply = await manager().request('HEAD', `${REPORTS}?page_size=120`);
    expect([reply.status, reply.text]).toEqual([200, '']);
  });
});
