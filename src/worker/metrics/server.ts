import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HoldfastError, messageOf } from '../../errors.ts';
import { closeServer, listen } from '../http.ts';

/** Answers `GET /metrics`. */
export interface MetricsServer {
  port: number;
  close(): Promise<void>;
}

/**
 * Serves what `render` returns at `/metrics`, without authentication. Rejects as `unavailable` if the port cannot be
 * listened on.
 */
export async function serveMetrics(host: string, port: number, render: () => string): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(render());
  });
  await listen(server, { host, port }).catch((error: unknown) => {
    const message = `METRICS_PORT: cannot listen on port ${port} of ${host}: ${messageOf(error)}`;
    throw new HoldfastError('unavailable', message, {}, error);
  });
  return { port: (server.address() as AddressInfo).port, close: () => closeServer(server) };
}
