import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMapValue } from '../../protocol/values.ts';
import { askHelper, type RegistryLogin } from './credential-helper.ts';
import { EngineError } from './engine.ts';
import { DOCKER_HUB } from './references.ts';

/** Where credentials for registries come from. */
export interface CredentialSources {
  /** An account of one registry, which wins over the file. The registry is a host, or `https://index.docker.io/v1/`. */
  fixed: { registry: string; username: string; password: string } | null;
  /** The folder with Docker's `config.json`; null if there is none. */
  dockerConfig: string | null;
  /** The environment of credential helpers. */
  env: Readonly<Record<string, string | undefined>>;
}

/** Docker's key for Docker Hub, and its names. */
const HUB_KEY = 'https://index.docker.io/v1/';
const HUB_HOSTS = [DOCKER_HUB, 'index.docker.io', 'registry-1.docker.io', 'registry.hub.docker.com'];

/**
 * Resolves to the credentials for a registry (`docker.io`, `ghcr.io`, `127.0.0.1:5000`), null if there are none. Reads the
 * file at each call, so that a new password needs no restart. Rejects as `unauthorized` if the file cannot be understood,
 * or names a helper that cannot be run or fails.
 */
export async function findLogin(registry: string, sources: CredentialSources): Promise<RegistryLogin | null> {
  const { fixed, dockerConfig, env } = sources;
  const serveraddress = isHub(registry) ? HUB_KEY : registry;
  if (fixed !== null && isSameHost(fixed.registry, registry)) {
    return { username: fixed.username, password: fixed.password, serveraddress };
  }
  const config = dockerConfig === null ? null : await readConfig(join(dockerConfig, 'config.json'));
  if (config === null) return null;
  const helper = entryFor(registry, config['credHelpers']) ?? config['credsStore'];
  const found =
    typeof helper === 'string' && helper !== '' ? await askHelper(helper, serveraddress, env) : null;
  return found ?? loginIn(entryFor(registry, config['auths']), serveraddress);
}

/** Encodes credentials for the header `X-Registry-Auth`: base64 of URLs, with the padding that Node's own lacks. */
export function authHeader(login: RegistryLogin): string {
  return Buffer.from(JSON.stringify(login)).toString('base64').replaceAll('+', '-').replaceAll('/', '_');
}

async function readConfig(path: string): Promise<Record<string, unknown> | null> {
  try {
    const config: unknown = JSON.parse(await readFile(path, 'utf8'));
    if (isMapValue(config)) return config;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null;
    // The text of a syntax error can quote the file.
    const { code = 'it is not JSON' } = error as NodeJS.ErrnoException;
    throw new EngineError('unauthorized', `the registry credentials in ${path} cannot be read: ${code}`);
  }
  throw new EngineError(
    'unauthorized',
    `the registry credentials in ${path} cannot be read: it is not a map`,
  );
}

function entryFor(registry: string, entries: unknown): unknown {
  if (!isMapValue(entries)) return undefined;
  const key = [registry, ...Object.keys(entries)].find(
    (name) => Object.hasOwn(entries, name) && isSameHost(name, registry),
  );
  return key === undefined ? undefined : entries[key];
}

function loginIn(entry: unknown, serveraddress: string): RegistryLogin | null {
  if (!isMapValue(entry)) return null;
  const { auth, identitytoken, username, password } = entry as Record<string, string | undefined>;
  if (identitytoken) return { identitytoken, serveraddress };
  if (!auth) return username && password ? { username, password, serveraddress } : null;
  const decoded = Buffer.from(auth, 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  if (colon === -1) return null;
  return {
    username: decoded.slice(0, colon),
    // Old versions of Docker filled it up with NUL characters.
    password: decoded.slice(colon + 1).replace(/(?<!\0)\0+$/, ''),
    serveraddress,
  };
}

/** Whether a key of Docker's file, a host or a URL, stands for this registry. */
function isSameHost(key: string, registry: string): boolean {
  const [host = ''] = key.replace(/^https?:\/\//, '').split('/', 1);
  return host === registry || (isHub(host) && isHub(registry));
}

function isHub(host: string): boolean {
  return HUB_HOSTS.includes(host);
}
