import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { WorkerReport } from '../../../src/protocol/report.ts';
import { engineAt } from '../../../src/worker/engine/client.ts';
import { Outbox } from '../../../src/worker/link/outbox.ts';
import type { Device } from '../../../src/worker/loop/device.ts';
import { Reporter } from '../../../src/worker/loop/reporter.ts';
import type { Parts } from '../../../src/worker/parts.ts';
import { startFakeEngine } from '../../support/fake-engine.ts';
import { deviceStatus, trouble } from '../support.ts';

describe('a change', () => {
  it('is reported although it happens while the figures of another report are asked for', async () => {
    const fake = await startFakeEngine();
    const { id } = fake.addContainer('web-1', {});
    const sent: WorkerReport[] = [];
    const link = {
      send: async (report: WorkerReport) => {
        sent.push(report);
        return 'accepted';
      },
    };
    let milliseconds = 0;
    const parts = {
      link,
      engine: engineAt(fake.socket, { credentials: { fixed: null, dockerConfig: null, env: {} } }),
      outbox: new Outbox(300),
      clock: { now: () => milliseconds, elapsed: () => milliseconds },
      stopping: new AbortController().signal,
      random: () => 0.5,
      logger: pino({ level: 'silent' }),
    } as unknown as Parts;
    const device = { info: null, actual: { containers: [{ id, state: 'running' }] } } as unknown as Device;
    let status = deviceStatus();
    const reporter = new Reporter(parts, device, () => status);
    reporter.look();
    milliseconds = 2000;
    const first = reporter.run();
    status = deviceStatus({ problems: [trouble()] });
    reporter.look();
    await first;
    milliseconds = 4000;
    await reporter.run();
    expect(sent.map(({ problems }) => problems.length)).toEqual([0, 1]);
    milliseconds = 6000;
    await reporter.run();
    expect(sent).toHaveLength(2);
  });
});
