/** How an engine answers; what else is the same for all of them is in `machine.ts`. */
export interface Dialect {
  product: 'docker' | 'podman';
  version: string;
  /** Newest and oldest version of the API. */
  api: string;
  oldestApi: string;
  /** Headers of `/_ping`. */
  headers: Readonly<Record<string, string>>;
  /** Word for a container that has ended. */
  exited: string;
  /** Whether the list shows ports of containers that do not run. */
  listsAllPorts: boolean;
  /** Whether a missing network is noticed when a container is created, not when it starts. */
  checksNetworks: boolean;
  /** Prefix of the names of images from Docker Hub. */
  hub: string;
  errors: {
    nameTaken(name: string, owner: string): Failure;
    portTaken(port: string): Failure;
    networkMissing(name: string): Failure;
    networkExists(name: string): Failure;
    noContainer(name: string): Failure;
    noImage(reference: string): Failure;
    sameName(): Failure;
  };
}

/** An answer that says that a call failed. */
export interface Failure {
  status: number;
  message: string;
}

const failure = (status: number, message: string): Failure => ({ status, message });

const DOCKER: Omit<Dialect, 'version' | 'api' | 'oldestApi' | 'headers'> = {
  product: 'docker',
  exited: 'exited',
  listsAllPorts: false,
  checksNetworks: false,
  hub: '',
  errors: {
    nameTaken: (name, owner) =>
      failure(
        409,
        `Conflict. The container name "/${name}" is already in use by container "${owner}". You have to remove (or rename) that container to be able to reuse that name.`,
      ),
    portTaken: (port) =>
      failure(
        500,
        `driver failed programming external connectivity on endpoint web (3f6d): Bind for ${port} failed: port is already allocated`,
      ),
    networkMissing: (name) => failure(404, `network ${name} not found`),
    networkExists: (name) => failure(409, `network with name ${name} already exists`),
    noContainer: (name) => failure(404, `No such container: ${name}`),
    noImage: (reference) => failure(404, `No such image: ${reference}`),
    sameName: () => failure(400, 'Renaming a container with the same name as its current name'),
  },
};

/** By name: Docker 20.10, Docker 29, Podman 4.3. */
export const DIALECTS = {
  'docker-1.41': {
    ...DOCKER,
    version: '20.10.24',
    api: '1.41',
    oldestApi: '1.12',
    headers: { server: 'Docker/20.10.24 (linux)' },
  },
  'docker-1.52': {
    ...DOCKER,
    version: '29.0.0',
    api: '1.52',
    oldestApi: '1.44',
    headers: { server: 'Docker/29.0.0 (linux)' },
  },
  'podman-4': {
    product: 'podman',
    version: '4.3.1',
    api: '1.41',
    oldestApi: '1.24',
    headers: { server: 'Libpod/4.3.1 (linux)', 'libpod-api-version': '4.3.1' },
    exited: 'stopped',
    listsAllPorts: true,
    checksNetworks: true,
    hub: 'docker.io/library/',
    errors: {
      nameTaken: (name, owner) =>
        failure(
          500,
          `creating container storage: the container name "${name}" is already in use by ${owner}. You have to remove that container to be able to reuse that name: that name is already in use`,
        ),
      portTaken: (port) =>
        failure(500, `cannot listen on the TCP port: listen tcp4 ${port}: bind: address already in use`),
      networkMissing: (name) =>
        failure(500, `unable to find network with name or ID ${name}: network not found`),
      networkExists: (name) => failure(500, `network name ${name} already used: network already exists`),
      noContainer: (name) => failure(404, `no container with name or ID "${name}" found: no such container`),
      noImage: (reference) => failure(404, `${reference}: image not known`),
      sameName: () => failure(500, 'name is in use: container already exists'),
    },
  },
} as const satisfies Record<string, Dialect>;

export type DialectName = keyof typeof DIALECTS;
