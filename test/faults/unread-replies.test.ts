import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION } from '../support/manager.ts';
import { type ProcessManager, startProcessManager } from '../support/process-manager.ts';
import { newFleet } from './small-fleet.ts';

const MIB = 1024 * 1024;
const CONNECTIONS = 40;
const PIPELINED = 1200;

/** What anyone may request, with or without an answer. */
const OPEN_REQUESTS: readonly (readonly [line: string, headers?: string])[] = [
  ['GET /openapi.json'],
  ['GET /healthz'],
  ['GET /readyz'],
  ['GET /'],
  ['GET /unknown'],
  ['DELETE /healthz'],
  ['OPTIONS /openapi.json'],
  ['GET /api/v2/apps'],
  ['GET /api/v2/apps', 'Authorization: Basic eDp5\r\n'],
  ['GET /api/v2/device_groups/edge/info'],
  ['POST /api/v2/reports', 'Content-Length: 0\r\n'],
  ['GET /metrics'],
  ['POST /webhook', 'Content-Length: 0\r\n'],
  ['GET /%zz'],
  ['GET /healthz', 'Expect: nonsense\r\n'],
  ['GET /healthz', 'Expect: 100-continue\r\n'],
];

/** The most memory that the process ever had, in bytes. */
function peakMemory({ process: { child } }: ProcessManager): number {
  const [, kilobytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1024;
}

/** Pipelines requests over many connections that never read, and waits until the server has seen them all. */
async function attack(manager: ProcessManager, line: string, headers = ''): Promise<void> {
  const { hostname, port } = new URL(manager.address);
  const request = `${line} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`;
  const sockets = await Promise.all(
    Array.from({ length: CONNECTIONS }, async (): Promise<Socket> => {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      await once(socket, 'connect');
      socket.write(request.repeat(PIPELINED));
      return socket;
    }),
  );
  for (let turn = 0; turn < 20; turn++) {
    expect((await fetch(`${manager.address}/healthz`)).status).toBe(200);
    await sleep(20);
  }
  for (const socket of sockets) socket.destroy();
}

describe.skipIf(process.platform !== 'linux')('clients that pipeline requests and never read', () => {
  // Without the limits it took 4 GB; with them, from 190 to 410 MB, as garbage is collected early or late.
  it('keep the manager below 500 MB, whatever they request, and it goes on', async () => {
    const manager = await startProcessManager({
      ...(await newFleet()),
      env: { WEBHOOK_SECRET: 's'.repeat(32) },
    });
    for (const [line, headers] of OPEN_REQUESTS) {
      await attack(manager, line, headers);
      expect(peakMemory(manager) / MIB, `after ${line}`).toBeLessThan(500);
    }
    expect(await manager.stop()).toBe(0);
  });

  it('keep it below 500 MB if they know the password and poll', async () => {
    const manager = await startProcessManager(await newFleet());
    const authorization = `Authorization: ${AUTHORIZATION}\r\n`;
    await attack(manager, 'GET /api/v2/device_groups/edge/info', authorization);
    expect(peakMemory(manager) / MIB).toBeLessThan(500);
    expect(await manager.stop()).toBe(0);
  });
});
