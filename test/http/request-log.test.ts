import { describe, expect, it } from 'vitest';
import { createRefusalLog, type Refusal } from '../../src/http/refusal-log.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';

const LONG = 'x'.repeat(8000);
const DEVICES = { DEVICE_AUTH_USER: 'devices', DEVICE_AUTH_PASSWORD: 'secret of devices' };

function basic(credentials: string): string {
  return `Basic ${Buffer.from(credentials).toString('base64')}`;
}

/** The lines about requests. */
function linesOf({ log }: TestManager): Record<string, unknown>[] {
  return log.filter(({ msg, method }) => msg === 'requests were refused' || method !== undefined);
}

describe('the log of requests', () => {
  it.each<[string, string, string, Record<string, string>, string | null, number]>([
    ['a wrong password', 'POST', `/api/v2/apps/a?x=${LONG}`, {}, basic('operator:guess'), 401],
    ['no credentials', 'DELETE', `/api/v2/apps/a?x=${LONG}`, {}, null, 401],
    ['a read', 'GET', `/api/v2/apps?x=${LONG}`, {}, null, 401],
    ['an unknown path', 'PUT', `/${LONG}`, {}, null, 404],
    ['a wrong method', 'DELETE', `/healthz?x=${LONG}`, {}, null, 405],
    ['a webhook without a signature', 'POST', `/webhook?x=${LONG}`, {}, null, 401],
    [
      'the account of the devices',
      'POST',
      `/api/v2/prune?x=${LONG}`,
      {},
      basic('devices:secret of devices'),
      403,
    ],
    ['a bad report', 'POST', '/api/v2/reports', {}, basic('devices:secret of devices'), 400],
  ])(
    'has one line and a total for any number of refusals of those whom nobody trusts: %s',
    async (_, method, path, headers, authorization, status) => {
      const settings = { ...DEVICES, WEBHOOK_SECRET: 'a secret of the forge' };
      const manager = await startManager({ files: SMALL_FLEET, settings });
      const send = () => manager.request(method, path, { headers, authorization });
      for (let round = 0; round < 10; round++) {
        const replies = await Promise.all(Array.from({ length: 20 }, send));
        expect(new Set(replies.map((reply) => reply.status))).toEqual(new Set([status]));
      }
      await manager.stop();
      const lines = linesOf(manager);
      expect(lines.map(({ refused }) => refused)).toEqual([1, 199]);
      expect(lines[1]).toMatchObject({
        level: 30,
        statuses: { [status]: 199 },
        addresses: { '127.0.0.1': 199 },
      });
      expect(JSON.stringify(lines).length).toBeLessThan(1500);
    },
  );

  it('has no error and no stack, and two lines, of two hundred guesses at a password', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const guess = async (index: number): Promise<number> => {
      const authorization = basic(`admin:${index}`);
      if (index % 3 === 0) return (await manager.post('/api/v2/reports', {}, { authorization })).status;
      const path = index % 3 === 1 ? '/api/v2/apps' : '/api/v2/device_groups/edge/info';
      return (await manager.get(path, { authorization })).status;
    };
    const statuses = await Promise.all(Array.from({ length: 200 }, (_, index) => guess(index)));
    expect(new Set(statuses)).toEqual(new Set([401]));
    await manager.stop();
    expect(manager.log.filter(({ level, err }) => Number(level) >= 50 || err !== undefined)).toEqual([]);
    expect(linesOf(manager)).toHaveLength(2);
  });

  it('has a line for each refused write of the administrator, with a URL of at most 200 characters', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.post(`/api/v2/apps/web?${LONG}`, {});
    await manager.post('/api/v2/apps/web/update', { container_image: 1 });
    await manager.stop();
    const lines = linesOf(manager);
    expect(lines.map(({ msg, user }) => [msg, user])).toEqual([
      ['request', 'operator'],
      ['request', 'operator'],
    ]);
    expect(String(lines[0]?.['url']).length).toBeLessThanOrEqual(201);
    expect(lines[1]?.['url']).toBe('/api/v2/apps/web/update');
  });
});

describe('createRefusalLog', () => {
  function refusal(address: string, status = 401): Refusal {
    return { method: 'GET', url: '/', status, address };
  }

  it('logs at most one line a minute, with the addresses that most came from', () => {
    let now = 0;
    const lines: Record<string, unknown>[] = [];
    const log = createRefusalLog({ info: (facts: object) => lines.push({ ...facts }) } as never, () => now);
    log.add(refusal('10.0.0.1'));
    for (let host = 0; host < 5000; host++) log.add(refusal(`2001:db8::${host.toString(16)}`, 404));
    for (let count = 0; count < 50; count++) log.add(refusal('2001:db8::5'));
    expect(lines).toHaveLength(1);
    now = 60_000;
    log.add(refusal('2001:db8::5'));
    expect(lines).toHaveLength(2);
    expect(lines[1]).toMatchObject({ refused: 5051, statuses: { 401: 51, 404: 5000 } });
    const { addresses, from_others: fromOthers } = lines[1] as { addresses: object; from_others: number };
    expect(Object.entries(addresses).slice(0, 2)).toEqual([
      ['others', 4000],
      ['2001:db8::5', 52],
    ]);
    expect(Object.values(addresses).reduce((sum, count) => sum + count, fromOthers)).toBe(5051);
    log.close();
    expect(lines, 'no line without a refusal').toHaveLength(2);
    log.add(refusal('10.0.0.1'));
    log.close();
    expect(lines).toHaveLength(3);
  });
});
