import { bodyOf } from '../http.ts';
import { isAlone } from '../plan/networks.ts';
import { createBody, endpointOf } from './body.ts';
import type { RegistryLogin } from './credential-helper.ts';
import { authHeader, type CredentialSources, findLogin } from './credentials.ts';
import {
  type ContainerDetails,
  type ContainerSpec,
  type ContainerSummary,
  type Engine,
  EngineError,
  type EngineInfo,
  type EngineLimits,
  type Image,
} from './engine.ts';
import { refusal } from './failures.ts';
import { negotiate } from './negotiation.ts';
import { readPull } from './pull.ts';
import { exactReference, parseReference, pullParts } from './references.ts';
import { rejoin } from './rejoin.ts';
import * as replies from './replies.ts';
import { type Call, exchange, LARGEST_ANSWER } from './transport.ts';

/** The limits that an engine on a slow device keeps, and after which waiting longer has never helped. */
export const ENGINE_LIMITS: EngineLimits = { quick: 30, slow: 60, pullIdle: 300 };

export interface EngineOptions {
  credentials: CredentialSources;
  limits?: EngineLimits;
}

/** Statuses that are no failure but facts, by the method that meets them. */
const DONE_OR_GONE = [304, 404];

interface Request extends Omit<Call, 'limit' | 'method' | 'path'> {
  limit?: number;
  /** Statuses from 300 on that are not failures. */
  accept?: readonly number[];
  /** Texts that must not be in an error. */
  secrets?: readonly string[];
}

/**
 * Returns the engine that listens on a unix socket: Docker from API 1.41 on. Nothing is sent yet: the first
 * call, and the first after an outage, negotiates the version of the API.
 */
export function engineAt(socketPath: string, options: EngineOptions): Engine {
  return new EngineClient(socketPath, options);
}

class EngineClient implements Engine {
  readonly #socketPath: string;
  readonly #credentials: CredentialSources;
  readonly #limits: EngineLimits;
  #api: string | null = null;

  constructor(socketPath: string, { credentials, limits = ENGINE_LIMITS }: EngineOptions) {
    this.#socketPath = socketPath;
    this.#credentials = credentials;
    this.#limits = limits;
  }

  async connect(): Promise<EngineInfo> {
    this.#api = null;
    const api = await this.#negotiated();
    const info = replies.mapOf(await this.#read('/info'), 'GET /info');
    return { api, ...replies.machineOf(info) };
  }

  async containers(): Promise<ContainerSummary[]> {
    const list = await this.#read('/containers/json?all=true');
    return replies.mapsOf(list, 'GET /containers/json').map(replies.containerOf);
  }

  async inspect(id: string): Promise<ContainerDetails | null> {
    const reply = await this.#find(`/containers/${encodeURIComponent(id)}/json`);
    return reply === null ? null : replies.detailsOf(reply);
  }

  async create(spec: ContainerSpec): Promise<string> {
    const [first, ...others] = spec.networks;
    if (!isAlone(first)) await this.#checkNetworks(spec.networks);
    if (others.length === 0) return this.#createAs(spec.name, spec);
    const name = `${spec.name}.joining`;
    await this.#removeLeftover(name, spec);
    const id = await this.#createAs(name, spec);
    try {
      for (const network of others) await this.#connectTo(network, id, spec.record.app_name);
      await this.rename(id, spec.name);
      return id;
    } catch (error) {
      await this.remove(id).catch(() => undefined);
      throw error;
    }
  }

  async start(id: string): Promise<void> {
    const path = `/containers/${encodeURIComponent(id)}/start`;
    const start = () => this.#post(path, { accept: [304], limit: this.#limits.slow });
    await start().catch(async (error: unknown) => {
      const isMissing = error instanceof EngineError && error.code === 'network-missing';
      if (!isMissing || !(await this.#rejoin(id))) throw error;
      await start();
    });
  }

  #rejoin(id: string): Promise<boolean> {
    return rejoin(id, {
      find: (path) => this.#find(path),
      networks: () => this.#networks(),
      post: (path, body) => this.#post(path, { body, limit: this.#limits.slow }),
    });
  }

  async stop(id: string, grace: number): Promise<void> {
    const path = `/containers/${encodeURIComponent(id)}/stop?t=${grace}`;
    await this.#post(path, { accept: DONE_OR_GONE, limit: grace + this.#limits.quick });
  }

  async restart(id: string, grace: number): Promise<void> {
    const path = `/containers/${encodeURIComponent(id)}/restart?t=${grace}`;
    await this.#post(path, { limit: grace + this.#limits.slow });
  }

  async rename(id: string, name: string): Promise<void> {
    const path = `/containers/${encodeURIComponent(id)}/rename?${new URLSearchParams({ name })}`;
    await this.#post(path).catch(async (error: unknown) => {
      // Docker refuses the name that the container has, in words and with a status that changed over time.
      const current = await this.#find(`/containers/${encodeURIComponent(id)}/json`).catch(() => null);
      if (current?.['Name'] !== `/${name}` && current?.['Name'] !== name) throw error;
    });
  }

  async remove(id: string): Promise<void> {
    const path = `/containers/${encodeURIComponent(id)}?force=true&v=true`;
    // 409: it is being removed already.
    await this.#send('DELETE', path, { accept: [404, 409], limit: this.#limits.slow });
  }

  async logs(id: string, lines: number): Promise<string[]> {
    const path = `/containers/${encodeURIComponent(id)}/logs?stdout=true&stderr=true&tail=${lines}`;
    return this.#send('GET', path).then(
      ({ body }) => replies.logLines(body).slice(-lines),
      () => [],
    );
  }

  async timedLogs(id: string, lines: number, since: number | null): Promise<string[]> {
    const from = since === null ? '' : `&since=${since.toFixed(9)}`;
    const options = `stdout=true&stderr=true&timestamps=true&tail=${lines}${from}`;
    const { body } = await this.#send('GET', `/containers/${encodeURIComponent(id)}/logs?${options}`);
    return replies.logLines(body).slice(-lines);
  }

  async stats(id: string): Promise<{ cpu: number; memory: number } | null> {
    const path = `/containers/${encodeURIComponent(id)}/stats?stream=false`;
    const { status, body } = await this.#send('GET', path, { accept: [404, 409] });
    return status === 200 ? replies.statsOf(replies.mapOf(replies.parseReply(body, path), path)) : null;
  }

  async networks(): Promise<string[]> {
    return (await this.#networks()).map(({ Name }) => `${Name}`);
  }

  async #networks(): Promise<replies.EngineReply[]> {
    return replies.mapsOf(await this.#read('/networks'), 'GET /networks');
  }

  async createNetwork(name: string): Promise<void> {
    const body = { Name: name, Driver: 'bridge', CheckDuplicate: true };
    await this.#post('/networks/create', { body, accept: [409] });
    await this.#removeDoubles(name);
  }

  /**
   * Two workers that make a network at once make two of one name, and then nothing can join it. All but the oldest go,
   * whoever looks, so that the same one is left; an engine keeps one that a container uses.
   */
  async #removeDoubles(name: string): Promise<void> {
    const doubles = (await this.#networks())
      .filter((network) => network['Name'] === name)
      .map((network) => ({ id: String(network['Id']), created: String(network['Created']) }))
      .toSorted((a, b) => (`${a.created} ${a.id}` < `${b.created} ${b.id}` ? -1 : 1));
    for (const { id } of doubles.slice(1))
      await this.#send('DELETE', `/networks/${encodeURIComponent(id)}`, { accept: [403, 404, 409] });
  }

  async image(reference: string): Promise<Image | null> {
    const reply = await this.#find(`/images/${encodeURIComponent(exactReference(reference))}/json`);
    return reply === null ? null : replies.imageOf(reply);
  }

  async images(): Promise<Image[]> {
    return replies.mapsOf(await this.#read('/images/json'), 'GET /images/json').map(replies.imageOf);
  }

  async pull(reference: string, signal: AbortSignal): Promise<Image> {
    const login = await findLogin(parseReference(reference).registry, this.#credentials);
    await this.#pullAs(reference, login, signal);
    const image = await this.image(reference);
    if (image !== null) return image;
    throw new EngineError(
      'refused',
      `the engine named no error, but ${reference} is not there after the pull`,
    );
  }

  async removeImage(id: string): Promise<boolean> {
    if (await this.#deleteImage(id)) return true;
    // Docker does not remove an image with several tags by its id; by its tags it would even one that is in use.
    const tags = (await this.image(id))?.tags ?? [];
    if (tags.length < 2 || (await this.containers()).some(({ imageId }) => imageId === id)) return false;
    for (const tag of tags) await this.#deleteImage(tag);
    return (await this.image(id)) === null;
  }

  async #deleteImage(reference: string): Promise<boolean> {
    const path = `/images/${encodeURIComponent(reference)}`;
    const { status } = await this.#send('DELETE', path, { accept: [404, 409], limit: this.#limits.slow });
    return status === 200;
  }

  /** Docker creates a container in a network that does not exist, and says so only when it starts. */
  async #checkNetworks(wanted: readonly string[]): Promise<void> {
    const known = await this.networks();
    const missing = wanted.find((name) => !known.includes(name));
    if (missing !== undefined) throw new EngineError('network-missing', `there is no network ${missing}`);
  }

  async #createAs(name: string, spec: ContainerSpec): Promise<string> {
    const path = `/containers/create?${new URLSearchParams({ name })}`;
    const { body } = await this.#post(path, {
      body: createBody(spec),
      limit: this.#limits.slow,
      secrets: Object.values(spec.record.env_vars),
    });
    return `${replies.mapOf(replies.parseReply(body, 'POST /containers/create'), 'POST /containers/create')['Id']}`;
  }

  async #connectTo(network: string, id: string, app: string): Promise<void> {
    const path = `/networks/${encodeURIComponent(network)}/connect`;
    const body = { Container: id, EndpointConfig: endpointOf(network, app) };
    await this.#post(path, { body, limit: this.#limits.slow });
  }

  /** Removes what a killed worker left between creating a container and joining its networks: one with the same labels. */
  async #removeLeftover(name: string, { labels }: ContainerSpec): Promise<void> {
    const left = (await this.containers()).find((container) => container.name === name);
    const isOurs = Object.keys(labels).every((label) => Object.hasOwn(left?.labels ?? {}, label));
    if (left?.state === 'created' && isOurs) await this.remove(left.id);
  }

  async #pullAs(reference: string, login: RegistryLogin | null, signal: AbortSignal): Promise<void> {
    const api = await this.#negotiated();
    const { name, version } = pullParts(reference);
    const query = new URLSearchParams({ fromImage: name, tag: version });
    const secrets = [login?.password ?? '', login?.identitytoken ?? ''];
    const call: Call = {
      method: 'POST',
      path: `/v${api}/images/create?${query}`,
      headers: login === null ? {} : { 'x-registry-auth': authHeader(login) },
      limit: this.#limits.pullIdle,
      signal,
    };
    await this.#exchange(call, async (response, extend) => {
      const { statusCode: status = 0 } = response;
      const failure =
        status === 200
          ? await readPull(response, extend)
          : replies.messageIn(await bodyOf(response, LARGEST_ANSWER));
      if (failure !== null) throw refusal(`pull of ${reference}`, status, failure, secrets);
    });
  }

  async #read(path: string): Promise<unknown> {
    const { body } = await this.#send('GET', path);
    return replies.parseReply(body, `GET ${path}`);
  }

  /** Resolves to a map, or to null if there is no such thing. */
  async #find(path: string): Promise<Readonly<Record<string, unknown>> | null> {
    const { status, body } = await this.#send('GET', path, { accept: [404] });
    return status === 404 ? null : replies.mapOf(replies.parseReply(body, `GET ${path}`), `GET ${path}`);
  }

  #post(path: string, request: Request = {}): Promise<{ status: number; body: Buffer }> {
    return this.#send('POST', path, request);
  }

  async #send(
    method: Call['method'],
    path: string,
    { limit = this.#limits.quick, accept = [], secrets = [], ...rest }: Request = {},
  ): Promise<{ status: number; body: Buffer }> {
    const api = await this.#negotiated();
    return this.#exchange({ method, path: `/v${api}${path}`, limit, ...rest }, async (response) => {
      const { statusCode: status = 0 } = response;
      const body = await bodyOf(response, LARGEST_ANSWER);
      if (status < 300 || accept.includes(status)) return { status, body };
      throw refusal(`${method} ${path}`, status, replies.messageIn(body), secrets);
    });
  }

  async #negotiated(): Promise<string> {
    this.#api ??= await negotiate(this.#socketPath, this.#limits.quick);
    return this.#api;
  }

  /** After an outage it may be another version of the engine. */
  async #exchange<T>(call: Call, read: Parameters<typeof exchange<T>>[2]): Promise<T> {
    return exchange(this.#socketPath, call, read).catch((error: unknown) => {
      if (error instanceof EngineError && error.code === 'unavailable') this.#api = null;
      throw error;
    });
  }
}
