import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { onTestFinished } from 'vitest';
import type { ExitCode } from '../../../src/process/exit.ts';
import { appDefaults } from '../../../src/protocol/app.ts';
import type { RunMode } from '../../../src/worker/command.ts';
import { askSocket } from '../../../src/worker/data-dir/local-request.ts';
import { SOCKET } from '../../../src/worker/data-dir/local-socket.ts';
import { runLoop } from '../../../src/worker/loop/loop.ts';
import { openParts } from '../../../src/worker/parts.ts';
import { parseWorkerConfig } from '../../../src/worker/settings.ts';
import type { WorkerStatus } from '../../../src/worker/status/status.ts';
import { type FakeEngine, startFakeEngine } from '../../support/fake-engine.ts';
import { temporaryFolder } from '../../support/folder.ts';

/** What a stand-in of the manager answers to a poll. */
export interface Answer {
  status?: number;
  body?: unknown;
  /** Sent byte for byte instead of `body`. */
  text?: string;
  headers?: Record<string, string>;
}

/** A stand-in of the manager: it answers polls as a test says, and keeps what it was sent. */
export interface StandIn {
  address: string;
  /** The answer to polls from now on; 304 for its ETag. */
  answer: Answer;
  /** `If-None-Match` of each poll; empty without one. */
  tags: string[];
  /** `Holdfast-Device` and `Holdfast-Instance` of each poll. */
  pollers: { device: unknown; instance: unknown }[];
  reports: Record<string, unknown>[];
}

/** Starts a stand-in, which is gone when the test is over. */
export async function startStandIn(answer: Answer): Promise<StandIn> {
  const state: StandIn = { address: '', answer, tags: [], pollers: [], reports: [] };
  const server = createServer((request, response) => void reply(state, request, response));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  state.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}

async function reply(state: StandIn, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const text = (await request.toArray()).join('');
  if (request.method === 'POST') {
    const sent = JSON.parse(text) as unknown;
    state.reports.push(...([sent].flat() as Record<string, unknown>[]));
    response.writeHead(202, { 'content-type': 'application/json' }).end('{"reports":1}');
    return;
  }
  const { status = 200, body, text: raw, headers = {} } = state.answer;
  const match = request.headers['if-none-match'] ?? '';
  state.tags.push(match);
  const { 'holdfast-device': device, 'holdfast-instance': instance } = request.headers;
  state.pollers.push({ device, instance });
  const { etag } = headers;
  if (status === 200 && etag !== undefined && match.endsWith(etag)) response.writeHead(304, headers).end();
  else
    response
      .writeHead(status, { 'content-type': 'application/json', ...headers })
      .end(raw ?? JSON.stringify(body));
}

/** A good answer: these apps, each with its id and image, with an ETag of a fleet. */
export function answerOf(
  order: number,
  apps: Record<string, [id: number, tag: string, fields?: Record<string, unknown>]>,
  { groupId = 1, fleet = 'f1ee' }: { groupId?: number; fleet?: string } = {},
): Answer {
  const list = Object.entries(apps).map(([app_name, [app_id, tag, fields]]) => ({
    app_name,
    container_image: `example.com/web:${tag}`,
    ...appDefaults(['nebula']),
    ...fields,
    app_id,
    _id: { $oid: '0'.repeat(24) },
  }));
  return {
    body: {
      prune_id: 1,
      apps_list: list.map(({ app_name }) => app_name),
      apps: list,
      device_group_id: groupId,
    },
    headers: {
      etag: `"${fleet}.${order}-x"`,
      'holdfast-device-group': 'edge',
      'holdfast-revision': 'a'.repeat(40),
    },
  };
}

/** A worker in this process, with an engine in memory. */
export interface TestWorker {
  engine: FakeEngine;
  folder: string;
  /** The lines of its log, parsed. */
  log: Record<string, unknown>[];
  status(): Promise<WorkerStatus>;
  post(path: string): Promise<number>;
  /** Asks it to stop, as SIGTERM does, and resolves to its exit code. */
  stop(): Promise<ExitCode>;
  ended: Promise<ExitCode>;
  output(): string;
}

/** An engine with images of three versions: `v1` and `v2`, which are healthy at once, and `sick`, which never is. */
export async function startEngine(): Promise<FakeEngine> {
  const engine = await startFakeEngine();
  for (const version of ['v1', 'v2'])
    engine.registry.push(`example.com/web:${version}`, version, { health: 'healthy' });
  engine.registry.push('example.com/web:sick', 'sick', { health: 'unhealthy' });
  return engine;
}

interface WorkerOptions {
  manager: string;
  engine: FakeEngine;
  folder?: string;
  mode?: RunMode;
  settings?: Record<string, string>;
}

/** How much faster the time of a worker goes by than that of its engine and manager. */
const SPEED = 10;

/** Starts a worker that polls each second of its time; it is stopped when the test is over. */
export async function startWorker(options: WorkerOptions): Promise<TestWorker> {
  const { manager, engine, mode = 'forever', settings = {} } = options;
  const folder = options.folder ?? join(await temporaryFolder(onTestFinished), 'data');
  const env = {
    MANAGER: manager,
    DEVICE_GROUP: 'edge',
    ENGINE: engine.socket,
    DATA_DIR: folder,
    DISK_HIGH: '100',
    ORCHESTRATOR_MANAGER_CHECK_IN_TIME: '1',
    ...settings,
  };
  const parsed = parseWorkerConfig(env, [], () => '');
  if (!parsed.ok) throw new Error(parsed.problems.join('\n'));
  const stopping = new AbortController();
  const log: Record<string, unknown>[] = [];
  const logger = pino({ level: 'debug' }, { write: (line) => void log.push(JSON.parse(line)) });
  const start = { now: Date.now(), elapsed: performance.now() };
  const clock = {
    now: () => Math.round(start.now + SPEED * (performance.now() - start.elapsed)),
    elapsed: () => SPEED * performance.now(),
  };
  const parts = await openParts({
    config: parsed.config,
    logger,
    clock,
    sleep: (seconds, signal) => sleep((seconds * 1000) / SPEED, undefined, { signal }).catch(() => undefined),
    stopping: stopping.signal,
    isLocked: mode !== 'dry-run',
  });
  let output = '';
  const ended = runLoop(parts, {
    mode,
    write: (text) => {
      output += text;
    },
  }).finally(async () => {
    parts.link.close();
    await parts.socket?.close();
  });
  const stop = (): Promise<ExitCode> => {
    stopping.abort();
    return ended;
  };
  onTestFinished(async () => void (await stop().catch(() => undefined)));
  const ask = (method: 'GET' | 'POST', path: string) => askSocket(join(folder, SOCKET), { method, path });
  return {
    engine,
    folder,
    log,
    status: async () => {
      const answer = await ask('GET', '/status');
      return (answer?.status === 200 ? answer.body : undefined) as WorkerStatus;
    },
    post: async (path) => (await ask('POST', path))?.status ?? 0,
    stop,
    ended,
    output: () => output,
  };
}

/** Waits until something is so; rejects with what was seen last if that takes too long. */
export async function until<T>(look: () => Promise<T> | T, isSo: (seen: T) => boolean): Promise<T> {
  const end = performance.now() + 40_000;
  for (;;) {
    const seen = await look();
    if (isSo(seen)) return seen;
    if (performance.now() > end) throw new Error(`still not so: ${JSON.stringify(seen)}`);
    await sleep(10);
  }
}

/** Waits for so many more polls to have been answered, and for the look that follows. */
export async function polls(manager: StandIn, more: number): Promise<void> {
  const enough = manager.tags.length + more;
  await until(
    () => manager.tags.length,
    (count) => count > enough,
  );
}
