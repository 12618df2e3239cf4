import { connect, createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';

/** A TCP proxy in front of a server on this machine, whose connections can be made slow. */
export interface SlowProxy {
  port: number;
  /** Limits each direction of each connection to one byte a second from now on, or lifts the limit. */
  slowDown(isSlow: boolean): void;
  /** The number of connections so far. */
  count(): number;
}

/** Starts a proxy in front of the port `target` of 127.0.0.1; it stops when the test is over. */
export async function slowProxy(target: number): Promise<SlowProxy> {
  const line = { isSlow: false, isOver: false, count: 0 };
  const sockets = new Set<Socket>();
  const pump = async (from: Socket, to: Socket): Promise<void> => {
    try {
      for await (const chunk of from as AsyncIterable<Buffer>) await pass(chunk, to, line);
    } catch {
      // One side has closed the connection.
    }
    to.end();
  };
  const server = createServer((client) => {
    line.count += 1;
    const inner = connect(target, '127.0.0.1');
    for (const socket of [client, inner]) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          client.destroy();
          inner.destroy();
        });
    }
    void pump(client, inner);
    void pump(inner, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    line.isOver = true;
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as { port: number }).port,
    slowDown: (isSlow) => {
      line.isSlow = isSlow;
    },
    count: () => line.count,
  };
}

async function pass(chunk: Buffer, to: Socket, line: { isSlow: boolean; isOver: boolean }): Promise<void> {
  let rest = chunk;
  while (line.isSlow && !line.isOver && !to.destroyed && rest.length > 0) {
    to.write(rest.subarray(0, 1));
    rest = rest.subarray(1);
    await sleep(1000);
  }
  if (rest.length > 0) to.write(rest);
}
