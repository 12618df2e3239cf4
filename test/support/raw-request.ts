import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { AUTHORIZATION, type TestManager } from './manager.ts';
import { type Reply, replyOf } from './reply.ts';

/** What a client says that sends JSON. */
export const JSON_TYPE = { 'content-type': 'application/json' };

/** A request as it goes over the wire: nothing is added but credentials, and the target is sent as it is written. */
export interface RawRequest {
  method?: string;
  /** The request target, byte for byte. */
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array | undefined;
  /** null: no credentials. */
  authorization?: string | null;
}

/** Sends what `fetch` would clean up first: odd targets and methods, no content type, any `Host` and `Origin`. */
export function sendRaw(manager: TestManager, request: RawRequest): Promise<Reply<IncomingHttpHeaders>> {
  const { method = 'GET', path, headers = {}, body, authorization = AUTHORIZATION } = request;
  const { hostname, port } = new URL(manager.service.address);
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
  const credentials = authorization === null ? {} : { authorization };
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { hostname, port, method, path, agent: false, headers: { ...length, ...credentials, ...headers } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const { statusCode: status = 0, headers } = response;
          resolve(replyOf(status, headers, text));
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}
