/** How an engine answers; what else is the same for all of them is in `machine.ts`. */
export interface Dialect {
  version: string;
  /** Newest and oldest version of the API. */
  api: string;
  oldestApi: string;
  /** Headers of `/_ping`. */
  headers: Readonly<Record<string, string>>;
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

/** By name: Docker 20.10, Docker 29. */
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
} as const satisfies Record<string, Dialect>;

export type DialectName = keyof typeof DIALECTS;
