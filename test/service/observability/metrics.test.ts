import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../../src/errors.ts';
import type { PassOutcome } from '../../../src/reconcile/pass/pass.ts';
import { STARTING, type Status } from '../../../src/reconcile/status.ts';
import { createMetrics } from '../../../src/service/observability/metrics.ts';
import { noDevices } from '../../support/no-devices.ts';

const FAILED: PassOutcome = { ok: false, error: new HoldfastError('unavailable', 'git was ended') };
const APPLIED: Status = { ...STARTING, applied: { revision: 'f'.repeat(40), at: 1_700_000_000_000 } };

const UNREACHABLE = {
  kind: 'unavailable' as const,
  message: 'origin is unreachable',
  since: 0,
  failures: 1,
  retryAt: 1,
};

/** The lines of our own metrics, without those of the process. */
async function linesOf(metrics: ReturnType<typeof createMetrics>): Promise<string[]> {
  const { text } = await metrics.render();
  return text.split('\n').filter((line) => line.startsWith('holdfast_'));
}

describe('createMetrics', () => {
  it('counts from the start, not from the first render', async () => {
    const metrics = createMetrics(noDevices);
    metrics.countRequest('GET', '/info', 200);
    metrics.countTransfer('fetch', 'ok');
    metrics.countPass(FAILED, { ...APPLIED, problems: [] });
    expect(await linesOf(metrics)).toEqual(
      expect.arrayContaining([
        'holdfast_http_requests_total{method="GET",route="/info",status="200"} 1',
        'holdfast_origin_transfers_total{kind="fetch",outcome="ok"} 1',
        'holdfast_passes_total{outcome="unavailable"} 1',
        'holdfast_applied_timestamp_seconds 1700000000',
        'holdfast_applied_changes_total 0',
      ]),
    );
    metrics.countRequest('GET', '/info', 200);
    expect(await linesOf(metrics)).toContain(
      'holdfast_http_requests_total{method="GET",route="/info",status="200"} 2',
    );
  });

  it('does not render a request counter that was never raised', async () => {
    const metrics = createMetrics(noDevices);
    metrics.requestCounter('GET', '/info', 304);
    expect((await linesOf(metrics)).join('\n')).not.toContain('304');
  });

  it('renders every outcome of passes as 0 before the first pass, so that an alert can notice that there is none', async () => {
    const lines = await linesOf(createMetrics(noDevices));
    for (const outcome of ['ok', 'unavailable', 'refused', 'conflict', 'invalid', 'internal'])
      expect(lines).toContain(`holdfast_passes_total{outcome="${outcome}"} 0`);
  });

  it.each([
    ['no origin', null, []],
    ['an origin that was not checked yet', { reachedAt: null, error: null }, []],
    ['an origin that was not reached since the start', { reachedAt: null, error: UNREACHABLE }, ['up 0']],
    [
      'an origin that was reached',
      { reachedAt: 1_700_000_000_000, error: null },
      ['reached_timestamp_seconds 1700000000', 'up 1'],
    ],
    [
      'an origin that was reached and then failed',
      { reachedAt: 1_700_000_000_000, error: UNREACHABLE },
      ['reached_timestamp_seconds 1700000000', 'up 0'],
    ],
  ])('renders whether origin is reached: %s', async (_, origin, expected) => {
    const metrics = createMetrics(noDevices);
    metrics.countPass(FAILED, { ...STARTING, origin: origin === null ? null : { ...origin, cause: null } });
    const lines = (await linesOf(metrics)).filter((line) => /^holdfast_origin_(up|reached)/.test(line));
    expect(lines.sort()).toEqual(expected.map((line) => `holdfast_origin_${line}`));
  });

  it('renders whether ids are recorded', async () => {
    const metrics = createMetrics(noDevices);
    expect(await linesOf(metrics)).toContain('holdfast_ids_recorded 1');
    metrics.setRecordStatus({ problem: { message: 'the disk is full', since: 0 } });
    expect(await linesOf(metrics)).toContain('holdfast_ids_recorded 0');
    metrics.setRecordStatus({ problem: null });
    expect(await linesOf(metrics)).toContain('holdfast_ids_recorded 1');
  });

  it('renders no time of an event that has not happened', async () => {
    const lines = await linesOf(createMetrics(noDevices));
    expect(lines.filter((line) => line.includes('_timestamp_seconds'))).toEqual([]);
  });
});
