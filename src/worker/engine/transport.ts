import type { IncomingMessage } from 'node:http';
import { codeOf, exchange as exchangeHttp, HttpError } from '../http.ts';
import { EngineError } from './engine.ts';
import { withShortIds } from './failures.ts';

/** One request to an engine. */
export interface Call {
  method: 'GET' | 'POST' | 'DELETE';
  /** With the query, and with the version of the API where it has one. */
  path: string;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  /** Seconds without an answer after which the call is given up. */
  limit: number;
  /** Gives the call up as `aborted`. */
  signal?: AbortSignal;
}

/** Bytes; the list of a thousand containers has two million. */
export const LARGEST_ANSWER = 16 * 2 ** 20;

/**
 * Sends a request over the socket of an engine and hands the response to `read`, whose result is that of the call. The
 * whole call must be over within its limit, which `extend` begins anew. Rejects with an `EngineError`. Every call opens a
 * connection, since on a socket of this machine that costs nothing, and an idle one would break when the engine restarts.
 */
export async function exchange<T>(
  socketPath: string,
  call: Call,
  read: (response: IncomingMessage, extend: () => void) => Promise<T>,
): Promise<T> {
  const { method, path, headers, body, limit, signal } = call;
  const text = body === undefined ? undefined : JSON.stringify(body);
  const type = text === undefined ? {} : { 'content-type': 'application/json' };
  const to = { socketPath, path };
  try {
    return await exchangeHttp(
      { to, method, headers: { host: 'engine', ...type, ...headers }, body: text, limit, signal },
      read,
    );
  } catch (error) {
    throw error instanceof EngineError ? error : engineError(socketPath, call, error);
  }
}

function engineError(socketPath: string, { method, path, limit }: Call, error: unknown): EngineError {
  const what = withShortIds(`${method} ${path.split('?', 1)[0]}`);
  const reason = error instanceof HttpError ? error.reason : null;
  if (reason === 'timeout')
    return new EngineError('timeout', `no answer of the engine for ${limit} seconds (${what})`);
  if (reason === 'aborted') return new EngineError('aborted', `given up (${what})`);
  if (reason === 'too-large') return new EngineError('refused', "the engine's answer is too large");
  const code = codeOf(error);
  const advice = code === 'EACCES' ? '; the user of this process needs the group of that socket' : '';
  const why = code === '' ? (error as Error).message : code;
  const text = `the container engine at ${socketPath} cannot be reached: ${why}${advice}`;
  return new EngineError('unavailable', text, error);
}
