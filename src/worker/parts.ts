import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Logger } from 'pino';
import { makeOwnFolder } from '../disk/folder.ts';
import { HoldfastError, messageOf } from '../errors.ts';
import { createFaults, type Faults } from '../faults.ts';
import type { Clock } from '../process/clock.ts';
import { type LocalSocket, openLocalSocket } from './data-dir/local-socket.ts';
import { createMemoryFile, type MemoryFile } from './data-dir/memory-file.ts';
import { engineAt } from './engine/client.ts';
import type { CredentialSources } from './engine/credentials.ts';
import type { Engine } from './engine/engine.ts';
import { createLink, type ManagerLink } from './link/link.ts';
import { Outbox } from './link/outbox.ts';
import type { WorkerConfig } from './settings.ts';

/** A pause of so many seconds, which ends early when the signal is aborted. Never rejects. */
type Sleep = (seconds: number, signal: AbortSignal) => Promise<void>;

/** Who this worker is for the manager. */
interface Identity {
  name: string | null;
  /** Tells workers of one name apart; null before it is read from the memory, and for one that does not act. */
  instance: string | null;
}

/** Everything that a worker works with. */
export interface Parts {
  config: WorkerConfig;
  logger: Logger;
  clock: Clock;
  sleep: Sleep;
  /** Aborted when the worker has to stop. */
  stopping: AbortSignal;
  /** The name of this device; the worker sets it from the engine if DEVICE_NAME is unset. */
  identity: Identity;
  engine: Engine;
  link: ManagerLink;
  outbox: Outbox;
  memoryFile: MemoryFile;
  /** Null for a pass without a lock, or if the disk takes no new files. */
  socket: LocalSocket | null;
  faults: Faults;
  /** A number in [0, 1). */
  random(): number;
}

type PartsOptions = Pick<Parts, 'config' | 'logger' | 'clock' | 'sleep' | 'stopping'> & {
  /** Whether this worker acts: then nobody else may with the same DATA_DIR. */
  isLocked: boolean;
};

/**
 * Makes the parts of a worker: opens and locks DATA_DIR, and reads the file of certificates. Contacts nobody. Rejects as
 * `invalid` or `present` if a setting has to be changed.
 */
export async function openParts({ isLocked, ...given }: PartsOptions): Promise<Parts> {
  const { config, clock } = given;
  const folder = resolve(config.DATA_DIR);
  const identity: Identity = { name: config.DEVICE_NAME, instance: null };
  const ca = config.MANAGER_CA_FILE === null ? null : readCertificates(config.MANAGER_CA_FILE);
  const socket = isLocked ? await openFolder(folder, given.logger) : null;
  const { env } = process;
  return {
    ...given,
    identity,
    engine: engineAt(config.ENGINE ?? defaultSocket(env), { credentials: credentialsOf(config, env) }),
    link: createLink({
      manager: config.MANAGER,
      group: config.DEVICE_GROUP,
      device: () => identity.name,
      instance: () => identity.instance,
      credentials: accountOf(config.DEVICE_AUTH_USER, config.DEVICE_AUTH_PASSWORD),
      ca,
      requestTimeout: config.REQUEST_TIMEOUT,
      now: clock.now,
    }),
    outbox: new Outbox(config.REPORT_INTERVAL),
    memoryFile: createMemoryFile(folder, clock.now),
    socket,
    faults: createFaults(env['HOLDFAST_FAULT'], () => process.kill(process.pid, 'SIGKILL')),
    random: Math.random,
  };
}

function accountOf(user: string | null, password: string | null): { user: string; password: string } | null {
  return user === null || password === null ? null : { user, password };
}

/** Returns where the credentials of registries come from. */
export function credentialsOf(config: WorkerConfig, env: NodeJS.ProcessEnv): CredentialSources {
  const account = accountOf(config.REGISTRY_AUTH_USER, config.REGISTRY_AUTH_PASSWORD);
  const fixed = account && {
    registry: config.REGISTRY_HOST,
    username: account.user,
    password: account.password,
  };
  return { fixed, dockerConfig: config.DOCKER_CONFIG ?? join(homedir(), '.docker'), env };
}

function defaultSocket(env: NodeJS.ProcessEnv): string {
  const host = /^unix:\/\/(\/.+)$/.exec(env['DOCKER_HOST'] ?? '')?.[1];
  return host ?? '/var/run/docker.sock';
}

function readCertificates(path: string): string {
  try {
    const text = readFileSync(path, 'utf8');
    if (text.includes('-----BEGIN CERTIFICATE-----')) return text;
  } catch (error) {
    throw new HoldfastError('invalid', `MANAGER_CA_FILE cannot be read: ${messageOf(error)}`, {}, error);
  }
  throw new HoldfastError('invalid', `MANAGER_CA_FILE has no certificate in PEM form: ${path}`);
}

/** The disk takes no new files. A device has to run its apps then, too. */
const DISK_TROUBLE = new Set(['EDQUOT', 'EIO', 'ENOSPC', 'EROFS']);

async function openFolder(folder: string, logger: Logger): Promise<LocalSocket | null> {
  try {
    await makeOwnFolder(folder);
    return await openLocalSocket(folder);
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    const { code = '' } = error as NodeJS.ErrnoException;
    if (DISK_TROUBLE.has(code)) {
      logger.error(
        { err: error, data: folder },
        'DATA_DIR takes no new files: without a lock and local commands',
      );
      return null;
    }
    const remedy = 'set DATA_DIR to a folder that the worker may write to';
    throw new HoldfastError(
      'invalid',
      `DATA_DIR cannot be used: ${folder}: ${messageOf(error)}; ${remedy}`,
      {},
      error,
    );
  }
}
