import { pino } from 'pino';
import { expect, it } from 'vitest';
import { HoldfastError } from '../../src/errors.ts';
import { expireReports } from '../../src/service/expiry.ts';
import { buildEngine, wrap } from '../support/engine.ts';

const silent = pino({ level: 'silent' });
const report = { hostname: 'till-1', device_group: 'edge', report_creation_time: 1 };

it('drops reports that arrived too long ago, whatever time they tell, and keeps the others', async () => {
  const { store } = await buildEngine({ files: { 'apps/web.yaml': 'container_image: a\n' } });
  const now = Date.now();
  await store.insertReports(
    [{ ...report, hostname: 'old', report_creation_time: 9_999_999_999 }],
    now - 120_000,
  );
  await store.insertReports([{ ...report, hostname: 'new' }], now);
  const stop = expireReports(store, 60_000, Date.now, silent);
  const hosts = async () =>
    (await store.reports({ pageSize: 10 })).value.data.map((one) => one.report.hostname);
  await expect.poll(hosts, { timeout: 20_000 }).toEqual(['new']);
  stop();
});

it('says why it could not, and lives on', async () => {
  const { store } = await buildEngine({ files: { 'apps/web.yaml': 'container_image: a\n' } });
  const lines: string[] = [];
  const away = wrap(store, {
    expireReports: () => Promise.reject(new HoldfastError('unavailable', 'the disk is full')),
  });
  const stop = expireReports(
    away,
    60_000,
    Date.now,
    pino({ level: 'info' }, { write: (line) => void lines.push(line) }),
  );
  await expect.poll(() => lines.join(''), { timeout: 20_000 }).toContain('the disk is full');
  stop();
});
