import type { Env, Given } from '../../settings/read.ts';

/** Variables of Nebula's worker that mean the same as one of ours. */
const SAME: Readonly<Record<string, string>> = {
  DEVICE_AUTH_USER: 'NEBULA_MANAGER_AUTH_USER',
  DEVICE_AUTH_PASSWORD: 'NEBULA_MANAGER_AUTH_PASSWORD',
  ORCHESTRATOR_MANAGER_CHECK_IN_TIME: 'NEBULA_MANAGER_CHECK_IN_TIME',
  REQUEST_TIMEOUT: 'NEBULA_MANAGER_REQUEST_TIMEOUT',
  UPDATE_SPREAD: 'MAX_RESTART_WAIT_IN_SECONDS',
  ENGINE: 'DOCKER_HOST',
};

/**
 * Returns the settings that the environment gives by the names of Nebula's worker, or of Docker, so that a device is moved
 * by a change of its image. `NEBULA_MANAGER_URI` is a whole address; without it, the address has the parts that
 * Nebula's worker takes, with its defaults.
 */
export function nebulaNames(env: Env): Record<string, Given> {
  const found: Record<string, Given> = {};
  for (const [name, source] of Object.entries(SAME)) {
    const text = env[source] ?? '';
    if (text !== '') found[name] = { text, source };
  }
  const manager = managerOf(env);
  if (manager !== null) found['MANAGER'] = manager;
  return found;
}

function managerOf(env: Env): Given | null {
  const of = (part: string, fallback: string): string => env[`NEBULA_MANAGER_${part}`] || fallback;
  const uri = of('URI', '');
  if (uri !== '') return { text: uri, source: 'NEBULA_MANAGER_URI' };
  const host = of('HOST', '');
  if (host === '') return null;
  return {
    text: `${of('PROTOCOL', 'http')}://${host}:${of('PORT', '80')}`,
    source: 'the address of NEBULA_MANAGER_PROTOCOL, NEBULA_MANAGER_HOST and NEBULA_MANAGER_PORT',
  };
}
