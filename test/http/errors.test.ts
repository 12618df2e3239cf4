import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import Fastify from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import { HoldfastError } from '../../src/errors.ts';
import { useErrorReplies } from '../../src/http/errors.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';

const INFO = '/api/v2/device_groups/edge/info';
const REPORTS = '/api/v2/reports';
const REPORT = { hostname: 'a', device_group: 'edge', report_creation_time: 1, updated: true, report: {} };

it.each([
  ['polls', 'GET', INFO, undefined, 'objects', 'polls are failing'],
  ['reports', 'POST', REPORTS, REPORT, 'reports', 'reports are rejected'],
])('the failures of many %s with one cause are logged once a minute, with their number', async (...row) => {
  const [, method, url, body, table, msg] = row;
  let minutes = 0;
  const now = (): number => Date.now() + minutes * 60_000;
  const manager = await startManager({ files: SMALL_FLEET, logLevel: 'info', now });
  const db = new DatabaseSync(join(manager.dataFolder, 'store.sqlite'), { timeout: 1000 });
  onTestFinished(() => db.close());
  for (const name of ['state', table]) db.exec(`ALTER TABLE ${name} RENAME TO away_${name}`);
  const fail = async (times: number): Promise<void> => {
    for (let count = 0; count < times; count++)
      expect((await manager.request(method, url, { body })).status).toBe(503);
  };
  const logged = () => manager.log.filter((line) => JSON.stringify(line).includes(url));
  await fail(20);
  await expect.poll(() => logged().length).toBe(1);
  expect(logged()).toMatchObject([{ level: 50, msg, url, refused: 1, kind: 'unavailable' }]);
  expect(JSON.stringify(logged()), 'no stack').not.toMatch(/\bat \S+ \(/);
  minutes = 2;
  await fail(1);
  await expect.poll(() => logged().length).toBe(2);
  expect(logged()[1]).toMatchObject({ msg, refused: 20 });
  minutes = -1000;
  await fail(1);
  await expect.poll(() => logged().length, { message: 'after the clock was set back' }).toBe(3);
});

it('failures of requests with one reason are logged once a minute, whatever git says of each', async () => {
  const lines: { refused: number }[] = [];
  let minutes = 0;
  const log = { write: (line: string) => void lines.push(JSON.parse(line)) };
  const app = Fastify({ logger: { level: 'error', stream: log } });
  onTestFinished(() => app.close());
  useErrorReplies(app, () => minutes * 60_000);
  app.decorateRequest('user', { getter: () => ({ name: 'pat' }) } as never);
  let count = 0;
  app.get('/', () => {
    count += 1;
    const cause = new Error(`fatal: unable to create objects/pack/tmp_pack_x${count}, process ${count}`);
    throw new HoldfastError('unavailable', 'git could not publish the commit: the disk is full', {}, cause);
  });
  for (let index = 0; index < 5; index++) expect((await app.inject('/')).statusCode).toBe(503);
  expect(lines).toMatchObject([{ refused: 1, cause: expect.stringContaining('tmp_pack_x1') }]);
  minutes = 2;
  await app.inject('/');
  expect(lines).toMatchObject([{ refused: 1 }, { refused: 5 }]);
});

it.each([
  ['an unexpected one', new Error('/home/pat is full')],
  ['one of kind internal', new HoldfastError('internal', '/home/pat is full', { path: '/home/pat' })],
])(
  'the reply to an internal error has the id of the request, and nothing of its cause: %s',
  async (_, error) => {
    const app = Fastify({ genReqId: () => 'r-1' });
    onTestFinished(() => app.close());
    useErrorReplies(app, Date.now);
    app.get('/', () => Promise.reject(error));
    const reply = await app.inject('/');
    expect([reply.statusCode, reply.json()]).toEqual([500, { error: 'internal error', request_id: 'r-1' }]);
  },
);
