import { execFileSync } from 'node:child_process';
import { describe, expect, it, onTestFinished } from 'vitest';
import { noCounts, renderMetrics } from '../../src/worker/metrics/exposition.ts';
import { serveMetrics } from '../../src/worker/metrics/server.ts';
import { foundOrRequired, works } from '../support/tools.ts';
import { app, deviceStatus, trouble } from './support.ts';

const TEXT = renderMetrics(
  deviceStatus({
    device_group: 'a"b\\c',
    apps: [app(), app({ name: 'shop', state: 'rolled_back' })],
    problems: [trouble()],
    reports_dropped: 2,
  }),
  { ...noCounts(), goodPolls: 7, failedPolls: 1, pulls: 3, rollbacks: 1 },
  { total: 1000, free: 400 },
);

describe('the metrics of the worker', () => {
  it.each([
    'holdfast_worker_info{version="1.2.3",engine="docker 20.10.24",device_group="a\\"b\\\\c"} 1',
    'holdfast_worker_as_wanted 0',
    'holdfast_worker_last_good_poll_timestamp_seconds 1000093',
    'holdfast_worker_apps{state="running"} 1',
    'holdfast_worker_apps{state="rolled_back"} 1',
    'holdfast_worker_apps{state="failing"} 0',
    'holdfast_worker_problems 1',
    'holdfast_worker_disk_bytes 1000',
    'holdfast_worker_disk_free_bytes 400',
    'holdfast_worker_polls_total{result="good"} 7',
    'holdfast_worker_polls_total{result="failed"} 1',
    'holdfast_worker_pulls_total{result="good"} 3',
    'holdfast_worker_rollbacks_total 1',
    'holdfast_worker_reports_dropped_total 2',
  ])('have %s', (line) => {
    expect(TEXT.split('\n')).toContain(line);
  });

  it('have no disk that could not be read', () => {
    expect(renderMetrics(deviceStatus(), noCounts(), null)).not.toContain('disk');
  });

  it.runIf(foundOrRequired('promtool', works('promtool', ['--version'])))('are valid for promtool', () => {
    expect(execFileSync('promtool', ['check', 'metrics'], { input: TEXT, encoding: 'utf8' })).toBe('');
  });

  it('are served at /metrics alone, at a port that is free', async () => {
    const server = await serveMetrics('127.0.0.1', 0, () => TEXT);
    onTestFinished(() => server.close());
    const address = `http://127.0.0.1:${server.port}`;
    const reply = await fetch(`${address}/metrics?x=1`);
    expect(reply.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(await reply.text()).toBe(TEXT);
    expect((await fetch(address)).status).toBe(404);
    expect((await fetch(`${address}/metrics`, { method: 'POST' })).status).toBe(404);
    await expect(serveMetrics('127.0.0.1', server.port, () => '')).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(
        /^METRICS_PORT: cannot listen on port \d+ of 127\.0\.0\.1: .*EADDRINUSE/,
      ),
    });
  });
});
