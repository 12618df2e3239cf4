import { stat } from 'node:fs/promises';
import { posix, resolve } from 'node:path';
import type { Logger } from 'pino';
import type { Faults } from '../../faults.ts';
import type { Config } from '../../settings/table.ts';
import { openClone } from '../../source/git/clone/clone.ts';
import { openRemote } from '../../source/git/mirror/remote.ts';
import type { TransferObserver } from '../../source/git/origin/origin.ts';
import type { Repository } from '../../source/git/repository/repository.ts';
import type { Source } from '../../source/source.ts';

/** What opening the source needs beside the settings. */
export interface SourceEnvironment {
  env: Readonly<Record<string, string | undefined>>;
  logger: Logger;
  /** Is called after every fetch and push. */
  onTransfer: TransferObserver;
  faults: Faults;
  /** See `CloneOptions`. */
  mayCreate(): Promise<boolean>;
}

/** Time limit of a git command on this machine, in milliseconds. */
const GIT_TIME_LIMIT = 30_000;
/**
 * Time limit of a large fetch, such as the first one with the whole history, in milliseconds. A stalled connection is
 * noticed earlier.
 */
const FIRST_FETCH_LIMIT = 3_600_000;
/** How many times `GIT_TIMEOUT` the first fetch may be silent: origin must count the objects before it sends any. */
const FIRST_FETCH_PATIENCE = 3;

/** Opens the configured source; `data` is the data folder. */
export async function openSource(
  config: Config,
  data: string,
  environment: SourceEnvironment,
): Promise<Source> {
  return config.GIT_REMOTE === null
    ? openLocal(config, data, environment)
    : openOrigin(config, config.GIT_REMOTE, data, environment);
}

async function openLocal(
  config: Config,
  dataFolder: string,
  { env, logger, faults, mayCreate }: SourceEnvironment,
): Promise<Source> {
  const machine = { env, timeLimit: GIT_TIME_LIMIT };
  const folder = resolve(config.DESIRED_STATE);
  const source = await openClone({
    folder,
    branch: config.GIT_BRANCH,
    machine,
    dataFolder,
    faults,
    mayCreate,
  });
  if (source.isNew)
    logger.warn(
      { folder: source.repository.context.folder },
      'the folder was not in a git repository: created one, with a first commit',
    );
  await warnOfOtherOwner(source.repository, logger);
  return source;
}

/** Warns if root will write into a clone of another user, who then cannot change or remove what it wrote. */
async function warnOfOtherOwner({ context, commonFolder }: Repository, logger: Logger): Promise<void> {
  const { uid } = await stat(commonFolder);
  if (process.getuid?.() !== 0 || uid === 0) return;
  logger.warn(
    { folder: context.folder, owner: uid },
    'the manager runs as root in the clone of another user, who cannot change what it writes there; run it as that user',
  );
}

function openOrigin(
  config: Config,
  url: string,
  data: string,
  { env, onTransfer, faults }: SourceEnvironment,
): Promise<Source> {
  const usual = config.GIT_TIMEOUT * 1000;
  return openRemote({
    dataFolder: data,
    branch: config.GIT_BRANCH ?? 'main',
    prefix: posix.join('.', config.DESIRED_STATE, '.').replace(/^\.$|\/$/, ''),
    access: {
      url: /^\.{1,2}\//.test(url) ? resolve(url) : url,
      username: config.GIT_USERNAME,
      token: config.GIT_TOKEN,
      tokenFile: config.GIT_TOKEN_FILE,
      sshKey: config.GIT_SSH_KEY,
      knownHosts: config.GIT_KNOWN_HOSTS,
      caFile: config.GIT_CA_FILE,
    },
    machine: { env, timeLimit: GIT_TIME_LIMIT },
    limits: {
      first: { total: FIRST_FETCH_LIMIT, silence: usual * FIRST_FETCH_PATIENCE },
      patient: { total: FIRST_FETCH_LIMIT, silence: usual },
      usual: { total: usual, silence: usual },
    },
    onTransfer,
    faults,
  });
}
