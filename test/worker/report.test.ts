import { statfs } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { MAX_REPORT_BYTES, Report, WorkerReport } from '../../src/protocol/report.ts';
import { createMachine, diskUsage } from '../../src/worker/machine.ts';
import { buildReport, fittedReport, type MachineFigures } from '../../src/worker/report.ts';
import { app, deviceStatus, trouble } from './support.ts';

const GIB = 1024 ** 3;
const MACHINE: MachineFigures = {
  memory: { total: 8 * GIB, available: 2 * GIB },
  disk: { total: 64 * GIB, free: 16 * GIB },
  cpu: { cores: 4, usedPercent: 12.345 },
};
const [CONTAINER] = deviceStatus().containers;

describe('buildReport', () => {
  it("has the device's state, and the figures by Nebula's names, in MiB", () => {
    const figures = new Map([[CONTAINER!.id, { cpu: 3.21, memory: 1.25 * 1024 ** 2 }]]);
    const report = buildReport({
      status: deviceStatus({ problems: [trouble()], reports_dropped: 2 }),
      machine: MACHINE,
      figures,
      isUpdate: true,
      now: 1_000_100,
    });
    const { slot: _, ...container } = CONTAINER!;
    expect(report).toEqual({
      hostname: 'shop-17',
      device_group: 'edge',
      report_creation_time: 1_000_100,
      updated: true,
      memory_usage: { total: 8192, used: 6144, free: 2048, available: 2048 },
      root_disk_usage: { total: 65_536, used: 49_152, free: 16_384 },
      cpu_usage: { cores: 4, used_percent: 12.3 },
      apps_containers: [{ ...container, cpu: 3.2, memory: 1.3 }],
      worker: deviceStatus().worker,
      applied: '"00aa.7-x"',
      revision: deviceStatus().revision,
      ids: deviceStatus().ids,
      apps: deviceStatus().apps,
      problems: [trouble()],
      reports_dropped: 2,
      uptime: 100,
    });
  });

  it('has null for figures that could not be read', () => {
    const report = buildReport({
      status: deviceStatus(),
      machine: { ...MACHINE, memory: null, disk: null },
      figures: new Map(),
      isUpdate: false,
      now: 0,
    });
    expect(report).toMatchObject({
      memory_usage: null,
      root_disk_usage: null,
      apps_containers: [{ cpu: null, memory: null }],
    });
    expect(WorkerReport.parse(report)).toEqual(report);
    expect(Report.parse(report)).toEqual(report);
  });
});

describe('a report that managers would refuse for its size', () => {
  const log = Array.from({ length: 20 }, () => 'x'.repeat(500));
  const taken = (name: string, lines: string[]) =>
    app({ name, state: 'rolled_back', error: trouble({ code: 'crashed', next_try: null, log: lines }) });
  const reportOf = (members: Parameters<typeof deviceStatus>[0]) => {
    const input = { status: deviceStatus(members), machine: MACHINE, figures: new Map() };
    return buildReport({ ...input, isUpdate: true, now: 1_000_100 });
  };
  const sizeOf = (report: unknown): number => Buffer.byteLength(JSON.stringify(report));

  it('goes without its containers, and says so', () => {
    const containers = Array.from({ length: 400 }, () => CONTAINER!);
    const report = reportOf({ containers, apps: [taken('web', log)] });
    const fitted = fittedReport(report);
    expect(sizeOf(report)).toBeGreaterThan(MAX_REPORT_BYTES);
    expect(sizeOf(fitted)).toBeLessThanOrEqual(MAX_REPORT_BYTES);
    expect(fitted).toMatchObject({ apps_containers: [], apps: [{ error: { log } }] });
    expect(fitted.problems).toMatchObject([
      { code: 'report-cut', text: expect.stringContaining('was sent without its containers; managers take') },
    ]);
    expect(WorkerReport.parse(fitted)).toEqual(fitted);
  });

  it('goes without the last lines as well where that is not enough, and keeps why apps were taken back', () => {
    const apps = Array.from({ length: 10 }, (_, index) => taken(`web-${index}`, log));
    const fitted = fittedReport(reportOf({ apps }));
    expect(sizeOf(fitted)).toBeLessThanOrEqual(MAX_REPORT_BYTES);
    expect(fitted.apps.map(({ state, error }) => [state, error?.code, error?.log])).toEqual(
      apps.map(() => ['rolled_back', 'crashed', undefined]),
    );
    expect(fitted.problems).toHaveLength(1);
  });

  it('is left as it is if it is small', () => {
    const report = reportOf({ apps: [taken('web', log)] });
    expect(fittedReport(report)).toBe(report);
  });
});

describe('the figures of this machine', () => {
  it('are plausible', async () => {
    const { memory, disk, cpu } = await createMachine().read('/');
    expect(memory!.available).toBeGreaterThan(0);
    expect(memory!.total).toBeGreaterThan(memory!.available);
    expect(disk!.total).toBeGreaterThanOrEqual(disk!.free);
    expect(cpu.cores).toBeGreaterThan(0);
    expect(cpu.usedPercent).toBeGreaterThanOrEqual(0);
    expect(cpu.usedPercent).toBeLessThanOrEqual(100);
  });

  it('have the disk of the root where the folder of the engine cannot be seen, as in a container', async () => {
    const { blocks, bfree, bavail, bsize } = await statfs('/');
    const { total, used, freeInodes } = await diskUsage('/no/such/folder');
    expect(total / bsize).toBeCloseTo(blocks - bfree + bavail, -5);
    expect([used >= 0, used <= 1, freeInodes >= 0, freeInodes <= 1]).toEqual([true, true, true, true]);
  });
});
