import { randomBytes } from 'node:crypto';
import type { Dialect, Failure } from './dialects.ts';
import { type FakeImage, FakeRegistry } from './registry.ts';

/** The part of the body of a create that the fake understands. */
export interface CreateBody {
  Image: string;
  Env?: string[];
  Labels?: Record<string, string>;
  HostConfig?: {
    NetworkMode?: string;
    PortBindings?: Record<string, { HostIp?: string; HostPort: string }[]>;
    RestartPolicy?: { Name: string };
    [field: string]: unknown;
  };
  NetworkingConfig?: { EndpointsConfig?: Record<string, unknown> };
}

export interface FakeContainer {
  id: string;
  name: string;
  body: CreateBody;
  image: FakeImage;
  networks: string[];
  state: 'created' | 'running' | 'restarting' | 'paused' | 'exited' | 'dead';
  health: 'none' | 'starting' | 'healthy' | 'unhealthy';
  exitCode: number;
  error: string;
  restarts: number;
  log: string[];
  /** How often it was started, by a call or by the engine. */
  starts: number;
}

/** A call that fails, as a thrown value. */
export class Refused extends Error {
  readonly failure: Failure;

  constructor(failure: Failure) {
    super(failure.message);
    this.failure = failure;
  }
}

const EVERY_ADDRESS = ['', '0.0.0.0'];

/** The state of a machine with an engine, and the rules by which calls change it. */
export class Machine {
  readonly dialect: Dialect;
  readonly registry = new FakeRegistry();
  readonly containers = new Map<string, FakeContainer>();
  /** By reference with tag, and by id. */
  readonly tags = new Map<string, FakeImage>();
  readonly images = new Map<string, { image: FakeImage; digests: Set<string> }>();
  readonly networks = new Set(['bridge', 'host', 'none']);

  constructor(dialect: Dialect) {
    this.dialect = dialect;
  }

  /** Finds a container by id, beginning of an id, or name. */
  container(key: string): FakeContainer {
    const all = [...this.containers.values()];
    const found =
      all.find(({ id, name }) => id === key || name === key) ?? all.find(({ id }) => id.startsWith(key));
    if (found === undefined) throw new Refused(this.dialect.errors.noContainer(key));
    return found;
  }

  image(reference: string): FakeImage {
    const byId = this.images.get(reference)?.image;
    const byDigest = [...this.images.values()].find(({ digests }) => digests.has(reference))?.image;
    const found = byId ?? byDigest ?? this.tags.get(reference);
    if (found === undefined) throw new Refused(this.dialect.errors.noImage(reference));
    return found;
  }

  create(name: string, body: CreateBody): FakeContainer {
    this.#checkName(name);
    const image = this.image(body.Image);
    const network = body.HostConfig?.NetworkMode ?? 'bridge';
    const container: FakeContainer = {
      id: randomBytes(32).toString('hex'),
      name,
      body,
      image,
      networks: [network],
      state: 'created',
      health: 'none',
      exitCode: 0,
      error: '',
      restarts: 0,
      log: [],
      starts: 0,
    };
    this.containers.set(container.id, container);
    return container;
  }

  /** Returns whether it did not run yet. */
  start(key: string): boolean {
    const container = this.container(key);
    if (container.state === 'running' || container.state === 'restarting') return false;
    const missing = container.networks.find((name) => !this.networks.has(name));
    const taken = this.#takenPort(container);
    const { errors } = this.dialect;
    if (missing !== undefined) this.#failStart(container, errors.networkMissing(missing));
    if (taken !== null) this.#failStart(container, errors.portTaken(taken));
    container.restarts = 0;
    this.run(container);
    return true;
  }

  /** Runs its process, which ends at once if its image is like that. */
  run(container: FakeContainer): void {
    const { health, exits } = container.image.behaviour;
    Object.assign(container, { state: 'running', exitCode: 0, error: '', starts: container.starts + 1 });
    container.health = health === 'manual' ? 'starting' : health;
    if (exits !== null) this.exit(container, exits);
  }

  /** Ends the process of a container by itself: the restart policy decides what happens. */
  exit(container: FakeContainer, code: number): void {
    const isRestarted = container.body.HostConfig?.RestartPolicy?.Name === 'unless-stopped';
    Object.assign(container, { exitCode: code, state: isRestarted ? 'restarting' : 'exited' });
    if (!isRestarted) return;
    container.restarts += 1;
    if (container.image.behaviour.exits === null) this.run(container);
    else container.starts += 1;
  }

  /** Returns whether it ran. */
  stop(key: string): boolean {
    const container = this.container(key);
    if (container.state === 'created' || container.state === 'exited') return false;
    Object.assign(container, { state: 'exited', exitCode: 137 });
    return true;
  }

  rename(key: string, name: string): void {
    const container = this.container(key);
    if (container.name === name) throw new Refused(this.dialect.errors.sameName());
    this.#checkName(name);
    container.name = name;
  }

  remove(key: string, force: boolean): void {
    const { id, state, name } = this.container(key);
    if (state === 'running' && !force) {
      const text = `You cannot remove a running container ${id}. Stop the container before attempting removal or force remove`;
      throw new Refused({
        status: 409,
        message: `${text}: ${name}`,
      });
    }
    this.containers.delete(id);
  }

  join(network: string, key: string): void {
    const container = this.container(key);
    // Docker believes it of a container that does not run yet, and fails its start.
    const believes = container.state === 'created';
    if (!this.networks.has(network) && !believes)
      throw new Refused(this.dialect.errors.networkMissing(network));
    container.networks.push(network);
  }

  createNetwork(name: string): void {
    if (this.networks.has(name)) throw new Refused(this.dialect.errors.networkExists(name));
    this.networks.add(name);
  }

  /** Puts an image of the registry on the machine. */
  store(name: string, version: string, image: FakeImage): void {
    const isTag = !version.startsWith('sha256:');
    const entry = this.images.get(image.id) ?? { image, digests: new Set<string>() };
    entry.digests.add(`${name}@${image.digest}`);
    this.images.set(image.id, entry);
    if (isTag) this.tags.set(`${name}:${version}`, image);
  }

  tagsOf(id: string): string[] {
    return [...this.tags].flatMap(([tag, image]) => (image.id === id ? [tag] : []));
  }

  removeImage(reference: string): void {
    const { id } = this.image(reference);
    const tags = this.tagsOf(id);
    const conflict = (why: string): never => {
      throw new Refused({ status: 409, message: `conflict: unable to delete ${id.slice(7, 19)} ${why}` });
    };
    if (reference === id && tags.length > 1)
      conflict('(must be forced) - image is referenced in multiple repositories');
    if (reference !== id && tags.length > 1) this.tags.delete(reference);
    else {
      const user = [...this.containers.values()].find(({ image }) => image.id === id);
      if (user !== undefined)
        conflict(`(must be forced) - image is being used by container ${user.id.slice(0, 12)}`);
      for (const tag of tags) this.tags.delete(tag);
      this.images.delete(id);
    }
  }

  /** The engine ends without stopping its containers, and comes back: what ran does not run any more. */
  afterCrash(): void {
    for (const container of this.containers.values()) {
      if (container.state === 'running' || container.state === 'restarting')
        Object.assign(container, { state: 'exited', exitCode: 255 });
    }
  }

  /** The machine starts again: what ran comes back, by its restart policy. */
  afterPowerLoss(): void {
    for (const container of this.containers.values()) {
      if (container.state !== 'running' && container.state !== 'restarting') continue;
      Object.assign(container, { state: 'exited', exitCode: 255 });
      if (container.body.HostConfig?.RestartPolicy?.Name === 'unless-stopped') this.run(container);
    }
  }

  #checkName(name: string): void {
    const owner = [...this.containers.values()].find((container) => container.name === name);
    if (owner !== undefined) throw new Refused(this.dialect.errors.nameTaken(name, owner.id));
  }

  #failStart(container: FakeContainer, failure: Failure): never {
    Object.assign(container, { exitCode: 128, error: failure.message });
    throw new Refused(failure);
  }

  #takenPort(container: FakeContainer): string | null {
    const others = [...this.containers.values()].filter(({ state }) => state === 'running');
    const taken = others.flatMap(portsOf);
    const clash = portsOf(container).find((port) =>
      taken.some(
        (other) =>
          other.port === port.port &&
          other.protocol === port.protocol &&
          (other.address === port.address ||
            EVERY_ADDRESS.includes(other.address) ||
            EVERY_ADDRESS.includes(port.address)),
      ),
    );
    return clash === undefined ? null : `${clash.address || '0.0.0.0'}:${clash.port}`;
  }
}

/** The ports of the machine that a container takes while it runs; none in the network of the machine. */
export function portsOf({ body }: FakeContainer) {
  if (body.HostConfig?.NetworkMode === 'host') return [];
  return Object.entries(body.HostConfig?.PortBindings ?? {}).flatMap(([key, bindings]) => {
    const [container = '', protocol = 'tcp'] = key.split('/');
    return bindings.map(({ HostIp = '', HostPort }) => ({
      address: HostIp,
      port: Number(HostPort),
      container: Number(container),
      protocol,
    }));
  });
}
