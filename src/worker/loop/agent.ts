import { randomBytes } from 'node:crypto';
import { PRODUCT_VERSION } from '../../version.ts';
import type { Parts } from '../parts.ts';
import { type AppsInput, isDone, reportedApps, statusContainers } from '../status/apps.ts';
import type { WorkerStatus } from '../status/status.ts';
import { Device } from './device.ts';
import { Poller } from './poller.ts';
import { Problems } from './problems.ts';
import { Reporter } from './reporter.ts';
import { deviceName } from './rules.ts';
import { Alarm } from './tasks.ts';
import { secondsOf, wallTimeOf } from './time.ts';

/** The worker: what it polls, acts on and reports, and its state for people. */
export interface Agent {
  parts: Parts;
  device: Device;
  poller: Poller;
  reporter: Reporter;
  /** Rings when something may be due earlier than it was. */
  alarm: Alarm;
  status(): WorkerStatus;
  /** To be called when something may have changed that people or reports show. */
  noteChange(): void;
}

/** Reads the memory and takes up what it says. Contacts nobody. */
export async function createAgent(parts: Parts): Promise<Agent> {
  const started = { wallTime: wallTimeOf(parts), now: secondsOf(parts) };
  const problems = new Problems(() => wallTimeOf(parts));
  const { memory, problem } = await parts.memoryFile.read();
  if (problem !== null)
    parts.logger.warn(
      { problem },
      'the state of an earlier run is not used; containers go on running as they are',
    );
  if (parts.socket !== null) memory.instance ??= randomBytes(4).toString('hex');
  parts.identity.instance = memory.instance ?? null;
  parts.identity.name = deviceName(parts.config, memory.name);
  const alarm = new Alarm();
  const noteChange = (): void => {
    noteDone(device, appsOf(parts, device));
    reporter.look();
    alarm.ring();
  };
  const device = new Device(parts, problems, memory, noteChange);
  const poller = new Poller(parts, device, problems);
  const status = (): WorkerStatus => ({
    ...deviceStatus(parts, device),
    worker: workerOf(device, started.wallTime),
    problems: problems.list(),
    uptime: Math.floor(secondsOf(parts) - started.now),
    manager: poller.status(),
  });
  const reporter = new Reporter(parts, device, status);
  poller.resume();
  if (parts.socket !== null) await device.save();
  return { parts, device, poller, reporter, alarm, status, noteChange };
}

/** Remembers the ETag of a reply once its work is done: from then on each poll says so. */
function noteDone(device: Device, input: AppsInput): void {
  const etag = device.memory.reply?.etag ?? '';
  if (etag !== '' && device.memory.done !== etag && isDone(input)) device.remember({ done: etag });
}

function appsOf(parts: Parts, { wanted, actual, memory, session, lastLines }: Device): AppsInput {
  const linesOf = (app: string): readonly string[] => lastLines.of(app);
  return { wanted, actual, memory, session, linesOf, now: secondsOf(parts), wallTime: wallTimeOf(parts) };
}

function workerOf({ info }: Device, started: number): WorkerStatus['worker'] {
  const engine = info === null ? null : `docker ${info.version}`;
  return { version: PRODUCT_VERSION, started, engine, api: info?.api ?? null };
}

function deviceStatus(
  parts: Parts,
  device: Device,
): Omit<WorkerStatus, 'worker' | 'problems' | 'uptime' | 'manager'> {
  const { memory, wanted, actual } = device;
  const apps = (wanted?.apps ?? []).map(({ name, id }) => [name, memory.apps[name]?.good?.id ?? id]);
  return {
    hostname: parts.identity.name ?? 'unknown',
    device_group: parts.config.DEVICE_GROUP,
    applied: memory.done,
    revision: memory.reply?.revision ?? null,
    ids: { device_group_id: memory.groupId, prune_id: memory.pruneId, apps: Object.fromEntries(apps) },
    apps: reportedApps(appsOf(parts, device)),
    reports_dropped: parts.outbox.dropped,
    pid: process.pid,
    containers: statusContainers(actual, memory),
    looked_at: device.lookedAt,
  };
}
