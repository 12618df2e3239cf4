import { once } from 'node:events';
import { type Agent, type IncomingMessage, request as requestHttp, type Server } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { ListenOptions } from 'node:net';

/** Why there is no answer, where it is not an error of the system: those have its codes. */
type Failure = 'timeout' | 'aborted' | 'too-large' | 'broken';

/** A request that failed for a reason of its own. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly reason: Failure;

  constructor(reason: Failure, message: string) {
    super(message);
    this.reason = reason;
  }
}

export interface HttpCall {
  /** An http or https address, or a path on a unix socket. */
  to: string | { socketPath: string; path: string };
  method: 'GET' | 'POST' | 'DELETE';
  headers?: Readonly<Record<string, string>>;
  body?: string | undefined;
  /** Keeps connections; by default each call opens its own. */
  agent?: Agent;
  /** Seconds within which the call has to be over. */
  limit: number;
  /** Gives the call up as `aborted`. */
  signal?: AbortSignal | undefined;
}

/**
 * Sends a request and hands the response to `read`, whose result is that of the call; `extend` begins the limit anew.
 * Rejects with an `HttpError`, with an error of the system, or with that of `read`; then the connection is closed. Once
 * more at once if a kept connection turns out to be closed: the other side may do that just before a request arrives. Not
 * with fetch, which takes 16 MB of memory on every device.
 */
export async function exchange<T>(
  call: HttpCall,
  read: (response: IncomingMessage, extend: () => void) => Promise<T>,
): Promise<T> {
  const request = open(call);
  let reason: HttpError | null = null;
  const end = (why: HttpError): void => {
    reason ??= why;
    request.destroy(why);
  };
  const { limit, signal } = call;
  const timer = setTimeout(() => end(new HttpError('timeout', `no reply within ${limit} s`)), limit * 1000);
  const abort = (): void => end(new HttpError('aborted', 'given up'));
  if (signal?.aborted === true) abort();
  signal?.addEventListener('abort', abort, { once: true });
  let response: IncomingMessage | null = null;
  try {
    [response] = (await once(request, 'response')) as [IncomingMessage];
    return await read(response, () => void timer.refresh());
  } catch (error) {
    request.destroy();
    const isStale = response === null && request.reusedSocket && codeOf(error) === 'ECONNRESET';
    if (reason === null && isStale) return await exchange(call, read);
    throw reason ?? error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

function open({ to, method, headers = {}, agent, body }: HttpCall) {
  const options = { method, headers, agent: agent ?? false };
  const isSecure = typeof to === 'string' && to.startsWith('https:');
  const request =
    typeof to === 'string'
      ? (isSecure ? requestHttps : requestHttp)(to, options)
      : requestHttp({ ...to, ...options });
  // One that comes after the response reaches the reader as an error of the response.
  request.on('error', () => undefined);
  return request.end(body);
}

/** Reads the rest of a response. Rejects if it breaks off, or has more than `most` bytes. */
export async function bodyOf(response: IncomingMessage, most: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > most) throw new HttpError('too-large', `the reply is larger than ${most} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof HttpError || response.complete) throw error;
    throw new HttpError('broken', 'the connection was closed in the middle of the reply');
  }
  return Buffer.concat(chunks);
}

/** Returns the code of an error of the system; empty for any other. */
export function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? '';
}

/** Lets a server listen. Rejects with the error of the system; what goes wrong with it later ends no worker. */
export async function listen(server: Server, at: ListenOptions): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(at, resolve);
  });
  server.on('error', () => undefined);
}

/** Closes a server with all of its connections. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
