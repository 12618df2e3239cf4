import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { isMapValue } from '../../protocol/values.ts';
import { EngineError } from './engine.ts';

/** What an engine sends to a registry: a name with a password, or a token. */
export interface RegistryLogin {
  username?: string;
  password?: string;
  identitytoken?: string;
  serveraddress: string;
}

/** Seconds that a helper may take. */
const LIMIT = 30;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
/** What helpers answer, with a code that is not 0, if they have nothing for a registry. */
const NOTHING = /credentials not found/i;
/** The user name by which a helper says that the secret is a token. */
const TOKEN = '<token>';

/**
 * Runs `docker-credential-NAME get`, as Docker's file `config.json` asks for, and resolves to what it has for a registry;
 * null if it has nothing. Rejects as `unauthorized` if it cannot be run or fails; nothing that it wrote is in the error.
 */
export async function askHelper(
  name: string,
  serveraddress: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<RegistryLogin | null> {
  if (!NAME.test(name)) throw failed(name, 'has an invalid name');
  const { code, output } = await run(`docker-credential-${name}`, serveraddress, env).catch((error) => {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw failed(name, isMissing ? 'is not on the PATH' : 'cannot be run');
  });
  if (code !== 0) {
    if (NOTHING.test(output)) return null;
    throw failed(name, code === null ? `did not answer within ${LIMIT} seconds` : `failed with code ${code}`);
  }
  const { Username, Secret } = parse(name, output);
  if (typeof Username !== 'string' || typeof Secret !== 'string' || Secret === '') return null;
  return Username === TOKEN
    ? { identitytoken: Secret, serveraddress }
    : { username: Username, password: Secret, serveraddress };
}

async function run(
  command: string,
  input: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(command, ['get'], {
    env,
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: LIMIT * 1000,
    killSignal: 'SIGKILL',
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  // It may end without reading.
  child.stdin.on('error', () => undefined).end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

function parse(name: string, output: string): Record<string, unknown> {
  try {
    const reply: unknown = JSON.parse(output);
    if (isMapValue(reply)) return reply;
  } catch {
    // The text of a syntax error can quote the secret.
  }
  throw failed(name, 'answered with something else than JSON');
}

function failed(name: string, what: string): EngineError {
  return new EngineError(
    'unauthorized',
    `cannot get the registry credentials: the helper docker-credential-${name} of Docker's config.json ${what}`,
  );
}
