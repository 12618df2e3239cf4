import { type CommandIo, UsageError } from '../shell/io.ts';
import {
  basic,
  bearer,
  CREDENTIALS_HINT,
  type ManagerAddress,
  type ManagerCredentials,
  parseAddress,
  type SentCredentials,
} from './client.ts';
import { type ManagerFile, readManagerFile } from './file.ts';

/** The options of a command, as it was given them. */
type Options = Readonly<Record<string, string | boolean | undefined>>;
/** Where the address and the credentials of a manager come from. */
export type ManagerSources = Pick<CommandIo, 'env' | 'readFile' | 'fileMode'>;

/**
 * Returns the manager that a command is to ask: of `--server`, of `HOLDFAST` or of the user's file, in this order; null for git alone,
 * as with `--desired-state`. Throws a UsageError, without secrets, that names the place of what is wrong.
 */
export function managerToAsk(options: Options, sources: ManagerSources): ManagerAddress | null {
  const { server, 'desired-state': folder, 'token-file': tokenFile } = options;
  if (server !== undefined && folder !== undefined)
    throw new UsageError('--server asks a manager and --desired-state reads git: give one of them');
  const file = lazyFile(sources);
  const named = folder === undefined ? addressOf(server as string | undefined, sources, file) : null;
  if (named !== null) return { ...named, credentials: credentialsFor(named.base, options, sources, file) };
  if (tokenFile !== undefined)
    throw new UsageError('--token-file is for a manager: name that with --server or HOLDFAST');
  return null;
}

/** Returns the manager of an address that was given in another way, with the user's credentials for it. */
export function managerAt(base: string, options: Options, sources: ManagerSources): ManagerAddress {
  return { base, namedBy: null, credentials: credentialsFor(base, options, sources, lazyFile(sources)) };
}

/** Reads the file when it is first asked for: a bad one disturbs no command that does not need it. */
function lazyFile(sources: ManagerSources): () => ManagerFile | null {
  let read: { file: ManagerFile | null } | undefined;
  return () => {
    read ??= { file: readManagerFile(sources) };
    return read.file;
  };
}

function addressOf(
  server: string | undefined,
  { env }: ManagerSources,
  file: () => ManagerFile | null,
): Omit<ManagerAddress, 'credentials'> | null {
  const given = server ?? (env['HOLDFAST'] || undefined);
  if (given === undefined) {
    const { server: base = null, path = '' } = file() ?? {};
    return base === null ? null : { base, namedBy: path };
  }
  const base = parseAddress(given);
  if (base !== null) return { base, namedBy: server === undefined ? 'HOLDFAST' : null };
  throw new UsageError(
    `${server === undefined ? 'HOLDFAST' : '--server'} must be the http:// or https:// address of a manager, without credentials; those are read from ${CREDENTIALS_HINT}`,
  );
}

function credentialsFor(
  base: string,
  { 'token-file': tokenFile }: Options,
  { env, readFile }: ManagerSources,
  file: () => ManagerFile | null,
): SentCredentials | null {
  if (tokenFile !== undefined)
    return { ...bearer(readToken(String(tokenFile), '--token-file', readFile)), from: '--token-file' };
  const { HOLDFAST_TOKEN: token, CREDENTIALS: account } = env;
  if (token) return { ...bearer(requireToken(token.trim(), 'HOLDFAST_TOKEN')), from: 'HOLDFAST_TOKEN' };
  if (account) return { ...parseAccount(account, 'CREDENTIALS'), from: 'CREDENTIALS' };
  return fileCredentials(base, file(), readFile);
}

/** The credentials of a file that names a server are for that server alone. */
function fileCredentials(
  base: string,
  file: ManagerFile | null,
  readFile: ManagerSources['readFile'],
): SentCredentials | null {
  if (file === null || (file.server !== null && new URL(file.server).origin !== new URL(base).origin))
    return null;
  const { credentials, tokenFile } = file;
  if (tokenFile !== null)
    return { ...bearer(readToken(tokenFile.path, tokenFile.place, readFile)), from: file.path };
  if (credentials === null) return null;
  const { text, place, isExposed } = credentials;
  if (isExposed)
    throw new UsageError(
      `${place}: other users of this machine can read these credentials, so they are not used; change that with: chmod 600 ${file.path}`,
    );
  return { ...parseAccount(text, place), from: file.path };
}

function parseAccount(text: string, place: string): ManagerCredentials {
  const colon = text.indexOf(':');
  if (colon < 1) throw new UsageError(`${place}: credentials must be user:password`);
  return basic(text.slice(0, colon), text.slice(colon + 1));
}

function readToken(path: string, place: string, readFile: ManagerSources['readFile']): string {
  try {
    return requireToken(readFile(path).trim(), `${place} (${path})`);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new UsageError(`${place}: ${path} cannot be read: ${code ?? 'it is no file'}`);
  }
}

/** Throws a UsageError for a text that no header can have: the error of `fetch` would show it. */
function requireToken(text: string, place: string): string {
  if (/^[\x21-\x7e]+$/.test(text)) return text;
  throw new UsageError(
    text === ''
      ? `${place} is empty; it must have a token`
      : `${place} must have one token, in one line and without spaces`,
  );
}
