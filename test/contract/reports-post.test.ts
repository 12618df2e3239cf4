import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { commitCount } from '../support/manager-state.ts';
import { JSON_TYPE, sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';
import { OID, report } from './expected.ts';

const REPORTS = '/api/v2/reports';

/** The problems of the first twenty reports of a list, each of which has the key "prototype". */
const TWENTY_PROBLEMS = Object.fromEntries(
  Array.from({ length: 20 }, (_, index) => [String(index), 'must not have "prototype" as a key']),
);

describe('docs/contract.md, 9.1: POST /api/v2/reports', () => {
  const manager = suiteManager({ files: SMALL_FLEET });
  const count = async () => (await manager().get(`${REPORTS}?page_size=1000`)).body.data.length as number;

  it('one object or an array: 200 with accepted; the rest is kept as sent; no commit', async () => {
    const commits = await commitCount(manager().repository);
    const fields = {
      memory_usage: { total: 1, free: 0.5 },
      root_disk_usage: null,
      cpu_usage: [1, 2, { cores: '4' }],
      apps_containers: [{ name: 'web-1', id: 'abc' }],
      current_device_group_config: { apps_list: ['web'], apps: [] },
      updated: false,
      '': 'empty',
      'dotted.key': 1,
      $dollar: 2,
    };
    const one = await manager().post(REPORTS, report('kept', 1, fields));
    expect([one.status, one.body]).toEqual([200, { accepted: 1 }]);
    const many = await manager().post(REPORTS, [report('x', 1), report('y', 2), report('x', 1)]);
    expect([many.status, many.body]).toEqual([200, { accepted: 3 }]);
    const { body } = await manager().get(`${REPORTS}?hostname=kept`);
    expect(body.data).toEqual([{ ...report('kept', 1, fields), _id: OID, received_at: expect.any(String) }]);
    expect(await commitCount(manager().repository)).toBe(commits);
  });

  it('an empty array: [] gives {"accepted": 0}', async () => {
    const before = await count();
    const reply = await manager().post(REPORTS, []);
    expect([reply.status, reply.body]).toEqual([200, { accepted: 0 }]);
    expect(await count()).toBe(before);
  });

  it.each([
    ['no fields', {}],
    ['no hostname', { device_group: 'a', report_creation_time: 1 }],
    ['no device_group', { hostname: 'a', report_creation_time: 1 }],
    ['no time', { hostname: 'a', device_group: 'b' }],
    ['a hostname that is a number', report(7 as never, 1)],
    ['a time that is a string', report('a', '1' as never)],
    ['a time with a fraction', report('a', 1.5)],
    ['a time that is null', report('a', null as never)],
    ['null', null],
    ['a string', 'report'],
    ['a number', 5],
    ['an array within the array', [[report('a', 1)]]],
    ['one bad item of three', [report('a', 1), report('b', 'soon' as never), report('c', 3)]],
    ['null within the array', [report('a', 1), null]],
  ])('Bad items: 400 invalid_parameters, none of the array is kept: %s', async (_, body) => {
    const before = await count();
    const reply = await manager().post(REPORTS, body);
    expect(reply.status).toBe(400);
    expect(Object.keys(reply.body)).toEqual(['invalid_parameters']);
    expect(Object.keys(reply.body.invalid_parameters).length).toBeGreaterThan(0);
    expect(await count()).toBe(before);
  });

  it('Bad items: 400 with the first twenty of very many', async () => {
    const reply = await manager().post(REPORTS, [
      report('a', 1),
      ...Array.from({ length: 300_000 }, () => 0),
    ]);
    expect(reply.status).toBe(400);
    expect(Object.keys(reply.body.invalid_parameters)).toEqual(
      Array.from({ length: 20 }, (_, index) => String(index + 1)),
    );
  });

  it.each([
    ['as a field', '{"__proto__": 1}', { ['__proto__']: '"__proto__" cannot be a key' }],
    ['within a field', '{"x": [{"constructor": 1}]}', { x: 'must not have "constructor" as a key' }],
    ['in thirty reports', `[${'{"prototype": 1}, '.repeat(30)}0]`, TWENTY_PROBLEMS],
  ])(
    'a key that could change the prototype of a record: 400, nothing kept: %s',
    async (_, body, problems) => {
      const before = await count();
      const reply = await sendRaw(manager(), { method: 'POST', path: REPORTS, headers: JSON_TYPE, body });
      expect([reply.status, Object.entries(reply.body['invalid_parameters'] as object)]).toEqual([
        400,
        Object.entries(problems),
      ]);
      expect(await count()).toBe(before);
    },
  );

  it('a field nested 32 levels deep is kept, and a report with a deeper one is refused', async () => {
    const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
    const kept = await manager().post(REPORTS, report('deep', 1, { nested: nested(32) }));
    expect([kept.status, kept.body]).toEqual([200, { accepted: 1 }]);
    const refused = await manager().post(REPORTS, report('deeper', 1, { nested: nested(33) }));
    const why = 'is nested more than 32 levels deep';
    expect([refused.status, refused.body]).toEqual([400, { invalid_parameters: { nested: why } }]);
  });

  it.each([
    ['absent', undefined],
    ['empty', ''],
    ['malformed', '[{'],
  ])('a body that is %s: 400, nothing kept', async (_, body) => {
    const before = await count();
    const reply = await sendRaw(manager(), { method: 'POST', path: REPORTS, headers: JSON_TYPE, body });
    expect(reply.status).toBe(400);
    expect(reply.body).toBeTypeOf('object');
    expect(await count()).toBe(before);
  });

  it.each([
    ['one report', 0, (large: object) => large],
    ['one of a list', 1, (large: object) => [report('small', 1), large]],
  ])('more than 64 KiB of JSON: 400 invalid_parameters, nothing kept: %s', async (_, index, bodyOf) => {
    const before = await count();
    const withBytes = (bytes: number) => {
      const rest = JSON.stringify(report('large', 1, { log: '' })).length;
      return report('large', 1, { log: 'x'.repeat(bytes - rest) });
    };
    const refused = await manager().post(REPORTS, bodyOf(withBytes(65_537)));
    const why = 'the report has 65537 bytes of JSON; at most 65536 are kept';
    const place = index === 0 ? 'body' : String(index);
    expect([refused.status, refused.body]).toEqual([400, { invalid_parameters: { [place]: why } }]);
    expect(await count()).toBe(before);
    const kept = await manager().post(REPORTS, bodyOf(withBytes(65_536)));
    expect([kept.status, kept.body]).toEqual([200, { accepted: index + 1 }]);
  });

  it('concurrent reports are all kept, each once', async () => {
    const hosts = Array.from({ length: 20 }, (_, index) => `burst-${index}`);
    await Promise.all(hosts.map((host) => manager().post(REPORTS, report(host, 5, { burst: true }))));
    const { body } = await manager().get(`${REPORTS}?page_size=1000&report_creation_time=5`);
    expect(body.data.map((one: { hostname: string }) => one.hostname).sort()).toEqual(hosts.sort());
  });

  it('received_at is when a report arrived, by the clock of the manager, whatever the report itself says', async () => {
    const before = Date.now();
    await manager().post(REPORTS, report('late', 5, { received_at: '1999-01-01T00:00:00.000Z' }));
    const { body } = await manager().get(`${REPORTS}?hostname=late`);
    const at = String(body.data[0].received_at);
    expect(new Date(at).toISOString()).toBe(at);
    expect(Date.parse(at)).toBeGreaterThanOrEqual(before);
    expect(Date.parse(at)).toBeLessThanOrEqual(Date.now());
  });
});

describe('docs/contract.md, 9.3: Keeping', () => {
  it('setting REPORT_TTL, seconds, counted from arrival, whatever report_creation_time is', async () => {
    let now = Date.now();
    const manager = await startManager({ files: SMALL_FLEET, now: () => now });
    await manager.post(REPORTS, [report('old clock', 0), report('new clock', 4_000_000_000)]);
    const kept = await manager.restart();
    expect((await kept.get(REPORTS)).body.data).toHaveLength(2);
    now += 1100;
    const expired = await kept.restart({ REPORT_TTL: '1' });
    await expect.poll(async () => (await expired.get(REPORTS)).body.data, { timeout: 60_000 }).toEqual([]);
    await expired.post(REPORTS, report('short-lived', 0));
    expect((await expired.get(REPORTS)).body.data).toHaveLength(1);
    now += 1100;
    await expect.poll(async () => (await expired.get(REPORTS)).body.data, { timeout: 60_000 }).toEqual([]);
  });
});

describe('docs/contract.md, 9.3: REPORTS_MAX_BYTES', () => {
  it('keeps all reports together below this size: the oldest go first', async () => {
    const settings = { REPORTS_MAX_BYTES: '1048576' };
    const manager = await startManager({ files: SMALL_FLEET, settings });
    for (let time = 0; time < 30; time++) {
      const list = Array.from({ length: 2 }, () => report('a', time, { log: 'x'.repeat(50_000) }));
      expect((await manager.post(REPORTS, list)).status).toBe(200);
    }
    const { text, body } = await manager.get(`${REPORTS}?page_size=1000`);
    expect(text.length).toBeLessThan(1_048_576);
    expect(text.length).toBeGreaterThan(900_000);
    expect(body.data.at(-1).report_creation_time).toBe(29);
  });
});

describe('a report with a bad report_creation_time', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it.each([
    [-1, 'must be 0 or more'],
    [1.5, 'must be a whole number of seconds'],
    ['1', 'must be a whole number of seconds; write it without quotes'],
    [2 ** 53, 'must be 9007199254740991 or less'],
  ])('is refused with a reason that says what to send: %j', async (time, why) => {
    const reply = await manager().post(REPORTS, report('a', time as number));
    expect([reply.status, reply.body]).toEqual([400, { invalid_parameters: { report_creation_time: why } }]);
  });
});
