import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { AUTHORIZATION, type TestManager } from './manager.ts';

/** A request as it goes over the wire: nothing is added but credentials, and the target is sent as it is written. */
export interface RawRequest {
  method?: string;
  /** The request target, byte for byte. */
  path: string;
  headers?: Record<string, string | string[]>;
  body?: string | Uint8Array;
  /** null: no credentials. */
  authorization?: string | null;
}

/** A reply, read to its end. */
export interface RawReply {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
  /** The body as JSON; undefined where it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into replies of any shape
  body: any;
}

/** Sends what `fetch` would clean up first: odd targets and methods, no content type, any `Host` and `Origin`. */
export function sendRaw(manager: TestManager, request: RawRequest): Promise<RawReply> {
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
          resolve({ status, headers, text, body: parse(text) });
        });
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
