import { type CommandIo, UsageError } from './io.ts';
import { type ManagerAddress, parseAddress } from './manager-client.ts';

/**
 * Returns the manager that a command is to ask: that of `--server`, or of `HOLDFAST` unless a folder is named; null for git alone.
 * Throws a UsageError, without secrets, if the address or `CREDENTIALS` is wrong.
 */
export function managerToAsk(
  options: Readonly<Record<string, string | boolean | undefined>>,
  { env }: Pick<CommandIo, 'env'>,
): ManagerAddress | null {
  const { server, 'desired-state': folder } = options;
  if (server !== undefined && folder !== undefined)
    throw new UsageError('--server asks a manager and --desired-state reads git: give one of them');
  const given = server ?? (folder === undefined ? env['HOLDFAST'] || undefined : undefined);
  if (given === undefined) return null;
  const base = parseAddress(String(given));
  if (base === null)
    throw new UsageError(
      `${server === undefined ? 'HOLDFAST' : '--server'} must be the http:// or https:// address of a manager, without credentials; those are read from CREDENTIALS (user:password)`,
    );
  return { base, credentials: credentialsOf(env['CREDENTIALS'] ?? '') };
}

function credentialsOf(text: string): ManagerAddress['credentials'] {
  if (text === '') return null;
  const colon = text.indexOf(':');
  if (colon < 1) throw new UsageError('CREDENTIALS must be user:password');
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}
