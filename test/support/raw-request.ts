import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { AUTHORIZATION, type TestManager } from './manager.ts';
import { type Reply, replyOf } from './reply.ts';

/** The header of a client that sends JSON. */
export const JSON_TYPE = { 'content-type': 'application/json' };

/** A request that is sent as it is: only credentials and the length of the body are added. */
export interface RawRequest {
  method?: string;
  /** The request target, byte for byte. */
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array | undefined;
  /** The `Authorization` header; that of the administrator by default, and none if null. */
  authorization?: string | null;
}

/** Sends a request that `fetch` would change or refuse: odd targets and methods, no content type, any `Host`. */
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
