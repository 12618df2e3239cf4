import { type CreateBody, type FakeContainer, type Machine, portsOf } from './machine.ts';

/** An answer: JSON, bytes, or nothing. */
interface Answer {
  status: number;
  body?: unknown;
}

/** One call, without the version of the API. */
interface Call {
  machine: Machine;
  /** The part of the path that names a thing. */
  key: string;
  query: URLSearchParams;
  body: unknown;
}

type Route = [method: string, path: RegExp, answer: (call: Call) => Answer];

const DONE: Answer = { status: 204 };
const UNCHANGED: Answer = { status: 304 };
const SECOND = 1e9;
const HEALTH_CHECK = {
  Test: ['CMD', 'check'],
  Interval: SECOND,
  Timeout: SECOND,
  Retries: 2,
  StartPeriod: SECOND,
};

/** Every call but the pull, which is a stream. */
export const ROUTES: readonly Route[] = [
  ['GET', /^\/info$/, ({ machine }) => ({ status: 200, body: info(machine) })],
  ['GET', /^\/containers\/json$/, ({ machine, query }) => ({ status: 200, body: list(machine, query) })],
  [
    'GET',
    /^\/containers\/([^/]+)\/json$/,
    ({ machine, key }) => ({ status: 200, body: inspect(machine.container(key)) }),
  ],
  [
    'GET',
    /^\/containers\/([^/]+)\/logs$/,
    ({ machine, key, query }) => ({ status: 200, body: logs(machine.container(key), query) }),
  ],
  [
    'GET',
    /^\/containers\/([^/]+)\/stats$/,
    ({ machine, key }) => ({ status: 200, body: stats(machine.container(key)) }),
  ],
  ['POST', /^\/containers\/create()$/, create],
  ['POST', /^\/containers\/([^/]+)\/start$/, ({ machine, key }) => (machine.start(key) ? DONE : UNCHANGED)],
  ['POST', /^\/containers\/([^/]+)\/stop$/, ({ machine, key }) => (machine.stop(key) ? DONE : UNCHANGED)],
  ['POST', /^\/containers\/([^/]+)\/restart$/, restart],
  ['POST', /^\/containers\/([^/]+)\/rename$/, rename],
  ['DELETE', /^\/containers\/([^/]+)$/, remove],
  [
    'GET',
    /^\/networks()$/,
    ({ machine }) => ({
      status: 200,
      body: [...machine.networks].map((Name) => ({ Name, Id: `id of ${Name}` })),
    }),
  ],
  ['POST', /^\/networks\/create()$/, createNetwork],
  ['POST', /^\/networks\/([^/]+)\/connect$/, connect],
  [
    'GET',
    /^\/images\/json$/,
    ({ machine }) => ({ status: 200, body: [...machine.images.keys()].map((id) => image(machine, id)) }),
  ],
  [
    'GET',
    /^\/images\/([^/]+)\/json$/,
    ({ machine, key }) => ({ status: 200, body: image(machine, machine.image(key).id) }),
  ],
  ['DELETE', /^\/images\/([^/]+)$/, removeImage],
];

function info({ dialect }: Machine) {
  return {
    Name: 'device-7',
    ServerVersion: dialect.version,
    NCPU: 4,
    MemTotal: 2 ** 32,
    DockerRootDir: '/var/lib/docker',
  };
}

function list(machine: Machine, query: URLSearchParams): unknown[] {
  const { dialect } = machine;
  const all = [...machine.containers.values()].filter(
    ({ state }) => query.get('all') === 'true' || state === 'running',
  );
  return all.map((container) => ({
    Id: container.id,
    Names: [`/${container.name}`],
    Image: shownImage(machine, container),
    ImageID: container.image.id,
    Labels: container.body.Labels ?? {},
    State: container.state,
    Status: statusOf(container),
    Ports: container.state === 'running' ? shownPorts(container) : [],
    ...(dialect.api === '1.52' && { Health: { Status: container.health, FailingStreak: 0 } }),
  }));
}

/** Docker shows the id of an image that lost the reference by which the container was made. */
function shownImage(machine: Machine, { body, image: own }: FakeContainer): string {
  const now = machine.tags.get(body.Image);
  return now === undefined || now.id === own.id ? body.Image : own.id;
}

function statusOf({ state, health, exitCode }: FakeContainer): string {
  if (state === 'created') return 'Created';
  if (state === 'restarting') return `Restarting (${exitCode}) 2 seconds ago`;
  if (state !== 'running') return `Exited (${exitCode}) 2 seconds ago`;
  if (health === 'none') return 'Up 2 seconds';
  return `Up 2 seconds (${health === 'starting' ? 'health: starting' : health})`;
}

function shownPorts(container: FakeContainer): unknown[] {
  return portsOf(container).flatMap(({ address, port, container: PrivatePort, protocol: Type }) => {
    const one = (IP: string) => ({ IP, PrivatePort, PublicPort: port, Type });
    return address !== '' ? [one(address)] : [one('0.0.0.0'), one('::')];
  });
}

function inspect(container: FakeContainer): unknown {
  const { state, exitCode, error, image: own } = container;
  // Docker restarts what crashes again and again.
  if (state === 'restarting') container.restarts += 1;
  return {
    Id: container.id,
    Name: `/${container.name}`,
    Image: own.id,
    RestartCount: container.restarts,
    State: { Status: state, ExitCode: exitCode, Error: error },
    Config: {
      Image: container.body.Image,
      Env: container.body.Env,
      Labels: container.body.Labels,
      ...(own.behaviour.health !== 'none' && { Healthcheck: HEALTH_CHECK }),
    },
    HostConfig: container.body.HostConfig,
    NetworkSettings: { Networks: Object.fromEntries(container.networks.map((name) => [name, {}])) },
  };
}

/** Each piece of a log has a header with its stream and its length. The lines were written a second apart, from 1970 on. */
function logs({ log }: FakeContainer, query: URLSearchParams): Buffer {
  const isTimed = query.get('timestamps') === 'true';
  const since = Number(query.get('since') ?? 0);
  const written = log.map((line, index) => ({ line, at: index }));
  const found = written.filter(({ at }) => at >= since).slice(-Number(query.get('tail')));
  const pieces = found.map(({ line, at }) => {
    const text = Buffer.from(`${isTimed ? `${new Date(at * 1000).toISOString()} ` : ''}${line}\n`);
    const header = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]);
    header.writeUInt32BE(text.length, 4);
    return Buffer.concat([header, text]);
  });
  return Buffer.concat(pieces);
}

function stats({ state }: FakeContainer): unknown {
  if (state !== 'running') return { memory_stats: {}, cpu_stats: { cpu_usage: { total_usage: 0 } } };
  return {
    read: '2026-01-01T00:00:01Z',
    preread: '2026-01-01T00:00:00Z',
    cpu_stats: { cpu_usage: { total_usage: 3 * SECOND } },
    precpu_stats: { cpu_usage: { total_usage: 2.5 * SECOND } },
    memory_stats: { usage: 3 * 2 ** 20, stats: { inactive_file: 2 ** 20 } },
  };
}

function create({ machine, query, body }: Call): Answer {
  const spec = body as CreateBody;
  const endpoints = Object.keys(spec.NetworkingConfig?.EndpointsConfig ?? {});
  if (endpoints.length > 1 && Number(machine.dialect.api.slice(2)) < 44)
    return { status: 400, body: { message: 'Container cannot be connected to network endpoints' } };
  return { status: 201, body: { Id: machine.create(query.get('name') ?? '', spec).id, Warnings: [] } };
}

function restart({ machine, key }: Call): Answer {
  machine.stop(key);
  machine.start(key);
  return DONE;
}

function rename({ machine, key, query }: Call): Answer {
  machine.rename(key, query.get('name') ?? '');
  return DONE;
}

function remove({ machine, key, query }: Call): Answer {
  machine.remove(key, query.get('force') === 'true');
  return DONE;
}

function createNetwork({ machine, body }: Call): Answer {
  const { Name } = body as { Name: string };
  machine.createNetwork(Name);
  return { status: 201, body: { Id: `id of ${Name}`, Warning: '' } };
}

function connect({ machine, key, body }: Call): Answer {
  machine.join(key, (body as { Container: string }).Container);
  return { status: 200 };
}

function removeImage({ machine, key }: Call): Answer {
  machine.removeImage(key);
  return { status: 200, body: [{ Deleted: key }] };
}

function image(machine: Machine, id: string): unknown {
  return {
    Id: id,
    RepoTags: machine.tagsOf(id),
    RepoDigests: [...(machine.images.get(id)?.digests ?? [])],
    Size: 2_000_000,
  };
}
