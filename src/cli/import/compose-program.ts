import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '../../errors.ts';

const execute = promisify(execFile);

/** What Compose says of a file. */
export interface ComposeOutput {
  /** The project with everything written out. */
  resolved: string;
  /** The project before variables were replaced and files of `env_file` read; null if this Compose cannot tell. */
  raw: string | null;
  /** The variables that are set in `.env` or the environment; null if this Compose cannot tell. */
  environment: string | null;
  /** What Compose warns of, such as variables that are set nowhere; each line ends with a line break. */
  warnings: string;
}

/** An error of Compose about the file: its own message. */
export class ComposeError extends Error {}

const PROGRAMS = [['docker', 'compose'], ['docker-compose']] as const;

/**
 * Lets Docker Compose read a file. Resolves to null if it is not installed. Rejects with a {@link ComposeError} if it refuses
 * the file.
 */
export async function askCompose(file: string, env: NodeJS.ProcessEnv): Promise<ComposeOutput | null> {
  for (const [program, ...first] of PROGRAMS) {
    const run = (...args: string[]): Promise<Printed> =>
      execute(program, [...first, ...args], { env, maxBuffer: 2 ** 26 });
    const isThere = await run('version').then(
      () => true,
      () => false,
    );
    if (isThere) return configOf((...flags) => run('--file', file, '--profile', '*', 'config', ...flags));
  }
  return null;
}

interface Printed {
  stdout: string;
  stderr: string;
}

async function configOf(config: (...flags: string[]) => Promise<Printed>): Promise<ComposeOutput> {
  const { stdout, stderr } = await config('--format', 'json').catch((error: { stderr?: string }) => {
    throw new ComposeError(error.stderr?.trim() || messageOf(error));
  });
  const orNull = (output: Promise<Printed>): Promise<string | null> =>
    output.then((printed) => printed.stdout).catch(() => null);
  return {
    resolved: stdout,
    raw: await orNull(config('--format', 'json', '--no-interpolate', '--no-env-resolution')),
    environment: await orNull(config('--environment')),
    warnings: stderr,
  };
}
