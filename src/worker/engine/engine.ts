import type { AppRecord } from '../../protocol/info.ts';
import type { ContainerState, Health, HostPort } from '../plan/model.ts';

/** What a container engine can do for the worker. Every call has a time limit and rejects with an `EngineError`. */
export interface Engine {
  /** Asks the engine who it is, and negotiates the version of its API. Called again after each outage. */
  connect(): Promise<EngineInfo>;
  /** Resolves to all containers of the machine, those of others included, whatever their state. */
  containers(): Promise<ContainerSummary[]>;
  /** Resolves to what the list does not tell; null if there is no such container. */
  inspect(id: string): Promise<ContainerDetails | null>;
  /**
   * Creates a container, without starting it, and joins it to all its networks. Resolves to its id. Until it has joined
   * them its name ends in `.joining`; one that a killed worker left behind like that is replaced. Rejects as
   * `network-missing` before it creates anything.
   */
  create(spec: ContainerSpec): Promise<string>;
  /**
   * Starts a container. One that runs already is a success. One whose networks were removed while it was stopped joins
   * those that have their names now.
   */
  start(id: string): Promise<void>;
  /** Stops a container: SIGKILL after `grace` seconds. One that is stopped, or gone, is a success. */
  stop(id: string, grace: number): Promise<void>;
  /** Stops and starts a container: SIGKILL after `grace` seconds. */
  restart(id: string, grace: number): Promise<void>;
  /** Renames a container. One that has that name already is a success. */
  rename(id: string, name: string): Promise<void>;
  /** Removes a container with its anonymous volumes. One that runs is killed, one that is gone is a success. */
  remove(id: string): Promise<void>;
  /** Resolves to the last lines that a container wrote, to both streams; empty if they cannot be read. */
  logs(id: string, lines: number): Promise<string[]>;
  /** `logs` since a time (Unix seconds; null: ever), each line with its time (RFC 3339) before it. Rejects if they cannot be read. */
  timedLogs(id: string, lines: number, since: number | null): Promise<string[]>;
  /**
   * Resolves to what a running container uses now: percent of one core, and bytes; null if it does not run. Docker needs
   * a second for the answer.
   */
  stats(id: string): Promise<{ cpu: number; memory: number } | null>;
  /** Resolves to the exact names of all networks. */
  networks(): Promise<string[]>;
  /** Makes a network with the driver `bridge`. One of that name is a success; of several, all but one go. */
  createNetwork(name: string): Promise<void>;
  /** Resolves to the image that a reference or an id stands for; null if it is not on this machine. */
  image(reference: string): Promise<Image | null>;
  images(): Promise<Image[]>;
  /**
   * Pulls an image and checks that it is there; resolves to it. Rejects as `timeout` if there is no progress for the
   * idle limit. Aborting the signal cancels the pull.
   */
  pull(reference: string, signal: AbortSignal): Promise<Image>;
  /** Removes an image by its id, with all its tags. Resolves to whether it was removed: not if it was gone or is in use. */
  removeImage(id: string): Promise<boolean>;
}

/** Seconds that calls may take before they reject as `timeout`. */
export interface EngineLimits {
  /** Calls that only read or write the engine's own records. */
  quick: number;
  /** Calls that make or start something; and beyond its grace, one that stops something. */
  slow: number;
  /** How long a pull may go on without progress. */
  pullIdle: number;
}

export interface EngineInfo {
  /** Host name of the machine. */
  name: string;
  version: string;
  api: string;
  cores: number;
  /** Bytes of memory of the machine. */
  memory: number;
  /** Where the engine keeps its data, on the machine. */
  root: string;
}

export interface ContainerSummary {
  id: string;
  /** Without the leading slash. */
  name: string;
  labels: Readonly<Record<string, string>>;
  /** The reference with which it was created; Docker shows the id instead once that reference stands for another image. */
  image: string;
  imageId: string;
  state: ContainerState;
  health: Health;
  /** Of its last end, as the list has it; null while it runs. The details are what counts. */
  lastExit: number | null;
  /** Ports of the machine that it holds now; none unless it runs. */
  ports: readonly HostPort[];
}

export interface ContainerDetails {
  restarts: number;
  /** Of its last end; null while it runs, and before its first start. */
  exitCode: number | null;
  /** Seconds after which its health check must have succeeded, by its own settings; null without a health check. */
  healthLimit: number | null;
  /** Seconds that it has to stop, if it was created with such a time. */
  stopTimeout: number | null;
  /** The policy by which the engine starts it again, as an app writes it; null if the engine does not say. */
  restart: string | null;
}

export interface Image {
  id: string;
  /** References with tags: `ghcr.io/acme/web:1.2`. */
  tags: readonly string[];
  /** References with digests: `ghcr.io/acme/web@sha256:…`. */
  digests: readonly string[];
}

/** A container to create. The engine turns the app's record into its own terms. */
export interface ContainerSpec {
  name: string;
  /** The reference to create it by; an image id to heal or to go back. */
  image: string;
  record: AppRecord;
  /** From 1; a container's host ports count up with it. */
  slot: number;
  labels: Readonly<Record<string, string>>;
  /** Networks to join, in order; `host` or `none` alone. */
  networks: readonly string[];
}

export type EngineErrorCode =
  /** The engine cannot be reached, or went away during the call. */
  | 'unavailable'
  /** No answer, or no progress, within the limit. */
  | 'timeout'
  /** There is no such container. */
  | 'absent'
  | 'name-taken'
  | 'port-taken'
  | 'network-missing'
  /** A part of the engine does not work for now: its bridge, its addresses, or the daemon below it. */
  | 'out-of-order'
  /** The image, or its tag, does not exist: in the registry, or on this machine when a container is made from it. */
  | 'image-missing'
  /** The registry wants other credentials. */
  | 'unauthorized'
  | 'no-space'
  /** The engine keeps remains of a start that its crash cut short: this container cannot be started any more. */
  | 'stuck'
  /** The caller aborted the call. */
  | 'aborted'
  /** Anything else that the engine refuses; the text says what. */
  | 'refused';

/** A call of the engine that failed. The message is for people, and has no credentials and no value of a variable. */
export class EngineError extends Error {
  override readonly name = 'EngineError';
  readonly code: EngineErrorCode;

  constructor(code: EngineErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}
