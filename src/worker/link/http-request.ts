import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingMessage,
  request as requestHttp,
} from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';

/** A reply, read to its end. */
export interface Reply {
  status: number;
  /** By name in lower case. */
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

interface RequestOptions {
  method: 'GET' | 'POST';
  /** Below the address of the manager. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Bytes of the reply's body at most. */
  limit: number;
  signal: AbortSignal;
}

/** Why there is no reply. `isNonsense`: what came cannot be from a manager, or ended before its end. */
export class RequestError extends Error {
  override readonly name = 'RequestError';
  readonly code: string | null;
  readonly isNonsense: boolean;

  constructor(
    message: string,
    { code = null, isNonsense = false }: { code?: string | null; isNonsense?: boolean } = {},
  ) {
    super(message);
    this.code = code;
    this.isNonsense = isNonsense;
  }
}

/** Sends requests to one address over one connection, one after another. */
export interface Requests {
  /** Rejects with a RequestError; with the signal's reason if that is aborted. Follows redirects of the same origin. */
  send(options: RequestOptions): Promise<Reply>;
  close(): void;
}

/** What all requests of a link have in common. */
export interface RequestSettings {
  manager: string;
  credentials: { user: string; password: string } | null;
  ca: string | null;
  /** Seconds. */
  requestTimeout: number;
}

/** Seconds in which a connection has to be made. */
const CONNECT_TIMEOUT = 10;
const MAX_REDIRECTS = 5;
/** Statuses that keep the method of a redirected request. */
const KEEPS_METHOD = [307, 308];
const REDIRECTS = [301, 302, 303, ...KEEPS_METHOD];

/** `node:http` and not fetch, which takes 16 MB of memory on every device. */
export function createRequests(settings: RequestSettings): Requests {
  const isSecure = settings.manager.startsWith('https:');
  const agent = isSecure
    ? new HttpsAgent({ keepAlive: true, maxSockets: 1, ...(settings.ca === null ? {} : { ca: settings.ca }) })
    : new HttpAgent({ keepAlive: true, maxSockets: 1 });
  const open = isSecure ? requestHttps : requestHttp;
  const authorization = authorizationOf(settings);
  const ask = (url: string, options: RequestOptions): Promise<Reply> =>
    exchange(
      (signal) =>
        open(url, {
          agent,
          method: options.method,
          headers: { ...options.headers, ...authorization },
          signal,
        }),
      options,
      settings.requestTimeout,
    );
  return {
    send: (options) => sendFollowing(ask, settings.manager + options.path, options),
    close: () => agent.destroy(),
  };
}

function authorizationOf({ credentials }: RequestSettings): Record<string, string> {
  if (credentials === null) return {};
  const { user, password } = credentials;
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

async function sendFollowing(
  ask: (url: string, options: RequestOptions) => Promise<Reply>,
  first: string,
  options: RequestOptions,
): Promise<Reply> {
  let url = first;
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    const reply = await ask(url, options);
    const { location } = reply.headers;
    const isRedirect = (options.method === 'GET' ? REDIRECTS : KEEPS_METHOD).includes(reply.status);
    if (!isRedirect || location === undefined) return reply;
    url = redirectedTo(url, location);
  }
  throw new RequestError('too many redirects', { isNonsense: true });
}

/** Credentials go to no other origin: somebody in between could redirect a device to a server of their own. */
function redirectedTo(url: string, location: string): string {
  if (!URL.canParse(location, url))
    throw new RequestError('a redirect has no valid address', { isNonsense: true });
  const target = new URL(location, url);
  if (target.origin !== new URL(url).origin)
    throw new RequestError(
      `it redirects to ${target.origin}, which is not followed; if that is the manager, set MANAGER to it`,
      { isNonsense: true },
    );
  return target.href;
}

/** Sends one request and reads its reply; once more if a kept connection turns out to be closed. */
async function exchange(
  open: (signal: AbortSignal) => ClientRequest,
  options: RequestOptions,
  timeout: number,
): Promise<Reply> {
  for (let isRetry = false; ; isRetry = true) {
    const attempt = { wasKept: false, hasReply: false };
    try {
      return await exchangeOnce(open, options, timeout, attempt);
    } catch (error) {
      options.signal.throwIfAborted();
      const failure = asRequestError(error);
      // The other side may close a kept connection at any time, also just before a request arrives.
      if (isRetry || !attempt.wasKept || attempt.hasReply || failure.code !== 'ECONNRESET') throw failure;
    }
  }
}

async function exchangeOnce(
  open: (signal: AbortSignal) => ClientRequest,
  { body, limit, signal }: RequestOptions,
  timeout: number,
  attempt: { wasKept: boolean; hasReply: boolean },
): Promise<Reply> {
  const stopper = new AbortController();
  const onAbort = (): void => stopper.abort(signal.reason);
  const end = (message: string): void => stopper.abort(new RequestError(message, { code: 'ETIMEDOUT' }));
  const timer = setTimeout(() => end(`no reply within ${timeout} s`), timeout * 1000);
  const connectTimer = setTimeout(
    () => end(`no connection within ${CONNECT_TIMEOUT} s`),
    CONNECT_TIMEOUT * 1000,
  );
  signal.throwIfAborted();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const request = open(stopper.signal);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request.on('socket', (socket) => {
        attempt.wasKept = request.reusedSocket;
        const onConnected = (): void => clearTimeout(connectTimer);
        if (request.reusedSocket) onConnected();
        else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', onConnected);
      });
      request.on('response', resolve).on('error', reject);
      request.end(body);
    });
    attempt.hasReply = true;
    return await readReply(response, limit);
  } catch (error) {
    throw stopper.signal.aborted ? stopper.signal.reason : error;
  } finally {
    clearTimeout(timer);
    clearTimeout(connectTimer);
    signal.removeEventListener('abort', onAbort);
  }
}

async function readReply(response: IncomingMessage, limit: number): Promise<Reply> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > limit)
        throw new RequestError(`the reply is larger than ${limit} bytes`, { isNonsense: true });
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof RequestError || response.complete) throw error;
    throw new RequestError('the connection was closed in the middle of the reply', { isNonsense: true });
  }
  const headers = response.headers as Record<string, string | undefined>;
  return { status: response.statusCode ?? 0, headers, body: Buffer.concat(chunks).toString('utf8') };
}

/** The parser of Node names what is no HTTP with codes such as HPE_INVALID_CONSTANT. */
function asRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  const { code = null, message } = error as NodeJS.ErrnoException & { errors?: Error[] };
  const first = (error as AggregateError).errors?.[0] as Error | undefined;
  return new RequestError(message || first?.message || String(code), {
    code,
    isNonsense: code?.startsWith('HPE_') === true,
  });
}
