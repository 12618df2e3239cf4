import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../src/errors.ts';
import type { PassOutcome } from '../../src/reconcile/pass.ts';
import { STARTING, type Status } from '../../src/reconcile/status.ts';
import { createMetrics } from '../../src/service/metrics.ts';

const FAILED: PassOutcome = { ok: false, error: new HoldfastError('unavailable', 'git was ended') };
const APPLIED: Status = { ...STARTING, applied: { revision: 'f'.repeat(40), at: 1_700_000_000_000 } };

/** The lines of figures of ours, without what the process tells of itself. */
async function linesOf(metrics: ReturnType<typeof createMetrics>): Promise<string[]> {
  const { text } = await metrics.render();
  return text.split('\n').filter((line) => line.startsWith('holdfast_'));
}

describe('the figures', () => {
  it('count what came before somebody asked first, and go on', async () => {
    const metrics = createMetrics();
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
        'holdfast_origin_reached_timestamp_seconds 0',
      ]),
    );
    metrics.countRequest('GET', '/info', 200);
    expect(await linesOf(metrics)).toContain(
      'holdfast_http_requests_total{method="GET",route="/info",status="200"} 2',
    );
  });

  it('name no request that never came', async () => {
    const metrics = createMetrics();
    metrics.requestCounter('GET', '/info', 304);
    expect((await linesOf(metrics)).join('\n')).not.toContain('304');
  });
});
