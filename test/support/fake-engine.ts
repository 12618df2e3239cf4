import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { DIALECTS, type DialectName, type Failure } from './fake-engine/dialects.ts';
import { type CreateBody, type FakeContainer, Machine, Refused } from './fake-engine/machine.ts';
import { answerPull } from './fake-engine/pull.ts';
import type { FakeRegistry } from './fake-engine/registry.ts';
import { ROUTES } from './fake-engine/routes.ts';
import { temporaryFolder, type WhenDone } from './folder.ts';

/** What happens to a call instead of its answer. */
export type Fault =
  /** It is not done, and this is the answer. */
  | Failure
  /** It is not done, and there is never an answer. */
  | 'hangs'
  /** It is not done, and the connection ends without an answer. */
  | 'cut'
  /** It is done, and the connection ends without an answer. */
  | 'done-but-cut'
  /** It is done, and half of the answer comes. */
  | 'half'
  /** It is not done, and something answers that is no engine. */
  | 'html';

/** A container engine in memory that listens on a unix socket. Its rules are those of the real ones. */
export interface FakeEngine {
  socket: string;
  registry: FakeRegistry;
  /** Calls so far, without the version of the API: `POST /containers/create?name=web-1`. */
  calls: string[];
  /** Headers of the last call. */
  headers(): Record<string, unknown>;
  /** Returns a container by name or id. Throws if there is none. */
  container(name: string): FakeContainer;
  /** Names of all containers, sorted. */
  names(): string[];
  /** Makes a container that runs, as somebody else could have; its image needs not be known. */
  addContainer(name: string, body: Partial<CreateBody>, state?: FakeContainer['state']): FakeContainer;
  setHealth(name: string, health: FakeContainer['health']): void;
  /** Ends the process of a container by itself. */
  exit(name: string, code: number): void;
  /** Makes calls whose method and path match a pattern fail, the next one alone unless `times` says otherwise. */
  fail(pattern: RegExp, fault: Fault, times?: number): void;
  networks: Set<string>;
  /** Ends the engine; calls fail until it is started again. What ran does not run any more then. */
  crash(): Promise<void>;
  /** Cuts the power; after the next start what ran runs again. */
  powerOff(): Promise<void>;
  start(): Promise<void>;
}

/** Starts a fake engine, which is gone when the test is over. */
export async function startFakeEngine(
  dialect: DialectName = 'docker-1.41',
  whenDone: WhenDone = onTestFinished,
): Promise<FakeEngine> {
  const socket = join(await temporaryFolder(whenDone), 'engine.sock');
  const machine = new Machine(DIALECTS[dialect]);
  const front = new Front(machine);
  await front.listen(socket);
  whenDone(() => front.close());
  const { calls } = front;
  return {
    socket,
    registry: machine.registry,
    calls,
    networks: machine.networks,
    headers: () => front.headers,
    container: (name) => machine.container(name),
    names: () => [...machine.containers.values()].map(({ name }) => name).sort(),
    addContainer: (name, body, state = 'running') => {
      const Image = body.Image ?? 'example.com/other:v1';
      machine.store('example.com/other', 'v1', machine.registry.push('example.com/other:v1', 'other'));
      return Object.assign(machine.create(name, { ...body, Image }), { state });
    },
    setHealth: (name, health) => Object.assign(machine.container(name), { health }),
    exit: (name, code) => machine.exit(machine.container(name), code),
    fail: (pattern, fault, times = 1) => void front.faults.push({ pattern, fault, times }),
    crash: async () => {
      await front.close();
      machine.afterCrash();
    },
    powerOff: async () => {
      await front.close();
      machine.afterPowerLoss();
    },
    start: () => front.listen(socket),
  };
}

/** The HTTP server: versions of the API, and faults. */
class Front {
  readonly calls: string[] = [];
  readonly faults: { pattern: RegExp; fault: Fault; times: number }[] = [];
  headers: IncomingMessage['headers'] = {};
  readonly #machine: Machine;
  #server: Server | null = null;

  constructor(machine: Machine) {
    this.#machine = machine;
  }

  async listen(socket: string): Promise<void> {
    const server = createServer((request, response) => void this.#receive(request, response));
    this.#server = server;
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve));
  }

  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const [, version, target = ''] = /^(?:\/v(\d+\.\d+))?(.*)$/.exec(url) ?? [];
    const call = `${method} ${target}`;
    this.calls.push(call);
    this.headers = request.headers;
    const text = (await request.toArray()).join('');
    const fault = this.#takeFault(call);
    if (fault === 'hangs') return;
    if (fault === 'cut') response.destroy();
    else if (fault === 'html') response.writeHead(200).end('<html>no engine</html>');
    else if (fault !== null && typeof fault === 'object')
      send(response, fault.status, { message: fault.message });
    else this.#answer(method, new URL(target, 'http://engine'), version, text, breaking(response, fault));
  }

  #answer(
    method: string,
    { pathname, searchParams: query }: URL,
    version: string | undefined,
    text: string,
    response: ServerResponse,
  ): void {
    const { dialect } = this.#machine;
    const refusal = version === undefined ? null : versionRefusal(version, dialect);
    if (refusal !== null) send(response, 400, { message: refusal });
    else if (pathname === '/_ping') ping(response, dialect);
    else if (method === 'POST' && pathname === '/images/create') answerPull(this.#machine, query, response);
    else this.#route(method, pathname, query, text, response);
  }

  #route(method: string, path: string, query: URLSearchParams, text: string, response: ServerResponse): void {
    const route = ROUTES.find(([its, pattern]) => its === method && pattern.test(path));
    if (route === undefined) {
      send(response, 404, { message: 'page not found' });
      return;
    }
    const key = decodeURIComponent(route[1].exec(path)?.[1] ?? '');
    try {
      const body = text === '' ? undefined : JSON.parse(text);
      const answer = route[2]({ machine: this.#machine, key, query, body });
      send(response, answer.status, answer.body);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      send(response, error.failure.status, { message: error.message });
    }
  }

  #takeFault(call: string): Fault | null {
    const found = this.faults.find(({ pattern, times }) => times > 0 && pattern.test(call));
    if (found === undefined) return null;
    found.times -= 1;
    return found.fault;
  }
}

/** Returns the response, or one that breaks off when it is sent. */
function breaking(response: ServerResponse, fault: Fault | null): ServerResponse {
  if (fault !== 'half' && fault !== 'done-but-cut') return response;
  response.end = ((body: unknown) => {
    const bytes = Buffer.from((body as Buffer | string | undefined) ?? '');
    if (fault === 'done-but-cut') response.destroy();
    else response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
    return response;
  }) as ServerResponse['end'];
  return response;
}

function ping(response: ServerResponse, { api, headers }: Machine['dialect']): void {
  response.writeHead(200, { 'api-version': api, ...headers }).end('OK');
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body === undefined ? '' : JSON.stringify(body));
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length });
  response.end(bytes);
}

function versionRefusal(version: string, { api, oldestApi }: Machine['dialect']): string | null {
  const minor = (text: string): number => Number(text.split('.')[1]);
  if (minor(version) > minor(api))
    return `client version ${version} is too new. Maximum supported API version is ${api}`;
  return minor(version) < minor(oldestApi)
    ? `client version ${version} is too old. Minimum supported API version is ${oldestApi}, please upgrade your client to a newer version`
    : null;
}
