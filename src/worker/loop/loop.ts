import { EXIT, type ExitCode } from '../../process/exit.ts';
import type { RunMode } from '../command.ts';
import { type DiskUsage, diskUsage } from '../machine.ts';
import { renderMetrics } from '../metrics/exposition.ts';
import { serveMetrics } from '../metrics/server.ts';
import type { Parts } from '../parts.ts';
import { describeAim } from '../status/describe-aim.ts';
import { isAsWanted } from '../status/status.ts';
import { type Agent, createAgent } from './agent.ts';
import { answerAsks } from './asks.ts';
import { runTasks } from './tasks.ts';
import { secondsOf } from './time.ts';

/** How a run ends, and where what it shows is written. */
export interface LoopOptions {
  mode: RunMode;
  /** Writes to standard output. */
  write(text: string): void;
}

/** Runs the worker and resolves to its exit code. Containers keep running when it ends. */
export async function runLoop(parts: Parts, { mode, write }: LoopOptions): Promise<ExitCode> {
  const agent = await createAgent(parts);
  if (mode === 'dry-run') return preview(agent, write);
  return mode === 'once' ? runOnce(agent) : runForever(agent);
}

async function runForever(agent: Agent): Promise<ExitCode> {
  const { parts, device, poller, reporter, alarm } = agent;
  parts.socket?.serve({
    status: () => agent.status(),
    retry: (app) => device.retry(app),
    forgetIds: () => device.forgetIds(),
  });
  const metrics = await openMetrics(agent);
  const tasks = [
    { dueAt: () => device.nextLookAt, work: () => device.look().then(() => undefined) },
    { dueAt: () => poller.nextAt, work: () => pollAndLook(agent) },
    { dueAt: () => reporter.nextAt, work: () => reporter.run() },
  ];
  const timer = { now: () => secondsOf(parts), sleep: parts.sleep };
  const onFailure = (error: unknown): void => {
    if (!parts.stopping.aborted) parts.logger.error({ err: error }, 'a task of this worker failed');
  };
  const { ended } = await runTasks({ tasks, alarm, timer, stopping: parts.stopping, onFailure });
  await device.stop();
  await ended;
  await metrics?.close();
  return EXIT.ok;
}

/** Polls, and looks at once if the manager has said something. */
async function pollAndLook({ parts, poller, device, noteChange }: Agent): Promise<void> {
  const before = device.memory.reply;
  await poller.poll();
  if (device.memory.reply === before) noteChange();
  else await device.look();
  await answerAsks(parts, device);
}

async function openMetrics(agent: Agent) {
  const { parts, device } = agent;
  const { METRICS_PORT, METRICS_HOST } = parts.config;
  if (METRICS_PORT === null) return null;
  let disk: DiskUsage | null = null;
  const render = (): string => {
    void diskUsage(device.info?.root ?? '/').then(
      (read) => {
        disk = read;
      },
      () => undefined,
    );
    return renderMetrics(agent.status(), device.counts, disk);
  };
  const server = await serveMetrics(METRICS_HOST, METRICS_PORT, render);
  parts.logger.info({ port: server.port }, 'metrics are served');
  return server;
}

/** Seconds between two looks of a single pass. */
const PASS_NAP = 0.25;

/** Works until nothing is left to do, or everything that is left waits. */
async function runOnce(agent: Agent): Promise<ExitCode> {
  const { parts, device, poller } = agent;
  const isGood = await poller.poll();
  while (!parts.stopping.aborted) {
    const made = await device.look();
    if (made === null) return EXIT.failed;
    if (made.jobs.length === 0 && device.isIdle && !device.isChanging()) break;
    await parts.sleep(PASS_NAP, parts.stopping);
  }
  await device.stop();
  for (const { name, state, error } of agent.status().apps)
    parts.logger.info({ app: name, state, error }, 'state of an app');
  if (!isGood) return EXIT.failed;
  return isAsWanted(agent.status()) ? EXIT.ok : EXIT.problems;
}

/** Shows what the device would do, in a line an app. */
async function preview(agent: Agent, write: (text: string) => void): Promise<ExitCode> {
  const { device, poller } = agent;
  await device.connect();
  const isGood = await poller.poll();
  const aims = await device.preview();
  if (aims === null || device.wanted === null) {
    write(
      `${agent.status().manager.error ?? agent.status().problems[0]?.text ?? 'nothing is known of what this device should run'}\n`,
    );
    return EXIT.failed;
  }
  const lines = aims.flatMap((aim) => describeAim(aim) ?? []);
  for (const line of lines) write(`${line}\n`);
  write(lines.length === 0 ? 'This device has nothing to do.\n' : 'Nothing was done.\n');
  return isGood ? EXIT.ok : EXIT.failed;
}
