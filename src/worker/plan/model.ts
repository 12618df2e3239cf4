import type { AppRecord } from '../../protocol/info.ts';
import type { TroubleCode } from '../../protocol/report.ts';

/**
 * What a container is in its slot. Its name says so: `web-1`, `web-1.next` (created, to take over), `web-1.next.joining`
 * (that a killed worker left before it had joined its networks), `web-1.old` (stopped, to go back to), `web-1.failed`
 * (stopped, kept so that its id is not tried again).
 */
export const ROLES = ['current', 'next', 'joining', 'old', 'failed'] as const;
export type Role = (typeof ROLES)[number];

export const CONTAINER_STATES = [
  'created',
  'running',
  'restarting',
  'paused',
  'exited',
  'removing',
  'dead',
] as const;
export type ContainerState = (typeof CONTAINER_STATES)[number];
export type Health = 'none' | 'starting' | 'healthy' | 'unhealthy';

/** A port of the machine. The address is null if the port is taken on all of them. */
export interface HostPort {
  address: string | null;
  port: number;
  protocol: string;
}

/** A container that this worker made, or one of Nebula's that it takes over. */
export interface Container {
  id: string;
  name: string;
  app: string;
  /** From 1. */
  slot: number;
  role: Role;
  /** `app_id` for which it was made; 0 for one of Nebula's. */
  appId: number;
  /** The label with the hash of its content; empty for one of Nebula's, whose content is unknown. */
  content: string;
  /** The label with the source of its ids; empty for one of Nebula's. */
  source: string;
  /** How many containers the app had when this was made. */
  count: number;
  /** The reference and the id of its image. */
  image: string;
  imageId: string;
  state: ContainerState;
  health: Health;
  restarts: number;
  exitCode: number | null;
  /** Seconds that its own health check may take until it first succeeds; null without one. */
  healthLimit: number | null;
  /** Seconds that it has to stop, if its app says so. */
  stopTimeout: number | null;
  /** The policy by which the engine starts it again; null if that is not known. */
  restart: string | null;
  /** Ports of the machine that it holds now. */
  ports: readonly HostPort[];
}

/** A container that is not this worker's. */
export interface Foreign {
  name: string;
  imageId: string;
  ports: readonly HostPort[];
  /** Whether its labels are those of Nebula's worker, or of this one, although it is not taken for one of theirs. */
  looksLike?: 'nebula' | 'own' | null;
}

/** What is on the machine, as one look at the engine showed it. */
export interface Actual {
  containers: readonly Container[];
  /** All other containers, of which only names and ports matter. */
  foreign: readonly Foreign[];
  networks: readonly string[];
  /** The images on this machine. */
  images: {
    ids: ReadonlySet<string>;
    byReference: ReadonlyMap<string, string>;
    /** By image id, if a registry gave one: `sha256:…`. */
    digests: ReadonlyMap<string, string>;
  };
  /** Why nothing can be staged: the engine does not list images or networks; null if it does. */
  blind: string | null;
  /** Why apps are left alone, by app: the engine does not say what one of its containers is like. */
  unclear: ReadonlyMap<string, string>;
}

/** Why an app is left as it is. */
export interface Obstacle {
  code: TroubleCode;
  text: string;
}

/** What an app has to be like, as the manager said it. */
export interface WantedApp {
  name: string;
  id: number;
  /** Null if the record is invalid. */
  record: AppRecord | null;
  /** The label of its content; empty if the record is invalid. */
  content: string;
  /** How many containers, on this machine. */
  count: number;
  /** Why this worker cannot act on it; null if it can. */
  obstacle: Obstacle | null;
}

/** A reply of the manager that was accepted. */
export interface Wanted {
  /** Where its ids come from: a hash of the fleet (or the manager's address) and the group. */
  source: string;
  pruneId: number;
  groupId: number;
  /** In the order of `apps_list`. */
  apps: readonly WantedApp[];
}

/** Limits and settings that the planner needs. */
export interface Rules {
  /** Prefix of container names: empty for the worker `main`, else its name and a dot. */
  prefix: string;
  /** Label that tells this worker's containers from those of others on one engine. */
  worker: string;
  /** Seconds. */
  healthWait: number;
  /** Seconds that a container without a health check has to run. */
  settleTime: number;
  stopTimeout: number;
  /** Whether a version that fails is taken back. */
  rollback: boolean;
  /** Seconds over which a fleet spreads its pulls. */
  updateSpread: number;
}

/** The state of the disk that the engine writes to. */
export interface Disk {
  /** Whether there is room to stop, rename and start containers. */
  hasRoomToSwap: boolean;
  /** What is missing, so that nothing is pulled; null if nothing is. */
  lack: string | null;
}

/** One thing to do. Each can be repeated: that it is done already is a success. */
export type Step =
  | { do: 'pull'; app: string; id: number; image: string }
  | {
      do: 'create';
      app: string;
      slot: number;
      name: string;
      imageId: string;
      record: AppRecord;
      labels: Readonly<Record<string, string>>;
    }
  | { do: 'stop'; app: string; container: string; name: string; grace: number }
  | { do: 'rename'; app: string; container: string; name: string; to: string }
  /** `id`: of the version that it is for. */
  | { do: 'start'; app: string; id: number; container: string; name: string }
  | { do: 'restart'; app: string; container: string; name: string; grace: number }
  | { do: 'remove'; app: string; container: string; name: string };
