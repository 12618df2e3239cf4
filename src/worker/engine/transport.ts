import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http';
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
const LARGEST_ANSWER = 16 * 2 ** 20;

/**
 * Sends a request over the socket of an engine and hands the response to `read`, whose result is that of the call. The
 * whole call must be over within its limit, which `extend` restarts. Rejects with an `EngineError`, and after it the
 * engine has no connection of ours: every call opens its own, since on a socket of this machine that costs nothing, and an
 * idle connection would break when the engine restarts.
 */
export async function exchange<T>(
  socketPath: string,
  call: Call,
  read: (response: IncomingMessage, extend: () => void) => Promise<T>,
): Promise<T> {
  const request = open(socketPath, call);
  const guard = watch(request, call);
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return await read(response, guard.extend);
  } catch (error) {
    if (error instanceof EngineError) throw error;
    throw guard.reason() ?? unavailable(socketPath, error);
  } finally {
    guard.release();
    request.destroy();
  }
}

/** Reads the rest of a response. Rejects if it breaks off, or is larger than any answer of an engine. */
export async function bodyOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > LARGEST_ANSWER) throw new EngineError('refused', "the engine's answer is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function open(socketPath: string, { method, path, body, headers }: Call): ClientRequest {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const request = openRequest({
    socketPath,
    agent: false,
    method,
    path,
    headers: {
      host: 'engine',
      ...(text !== undefined && { 'content-type': 'application/json' }),
      // Without it a request without a body would be sent in chunks, which Podman takes for one with a body.
      'content-length': Buffer.byteLength(text ?? ''),
      ...headers,
    },
  });
  // One that comes after the response reaches the reader as an error of the response.
  request.on('error', () => undefined);
  return request.end(text);
}

/** Ends a request that takes too long or that the caller aborts, and remembers why. */
function watch(request: ClientRequest, { limit, signal, method, path }: Call) {
  let reason: EngineError | null = null;
  const end = (why: EngineError): void => {
    reason ??= why;
    request.destroy(why);
  };
  const what = withShortIds(`${method} ${path.split('?', 1)[0]}`);
  const timer = setTimeout(
    () => end(new EngineError('timeout', `no answer of the engine for ${limit} seconds (${what})`)),
    limit * 1000,
  );
  const abort = (): void => end(new EngineError('aborted', `given up (${what})`));
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  return {
    reason: () => reason,
    extend: () => void timer.refresh(),
    release: () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
}

function unavailable(socketPath: string, error: unknown): EngineError {
  const { code, message } = error as NodeJS.ErrnoException;
  const advice = code === 'EACCES' ? '; the user of this process needs the group of that socket' : '';
  return new EngineError(
    'unavailable',
    `the container engine at ${socketPath} cannot be reached: ${code ?? message}${advice}`,
    error,
  );
}
