import type { GitCommand } from './commands.ts';
import type { ObjectFormat } from './object-ids.ts';
import {
  collectInto,
  type GitContext,
  GitFailure,
  type Limit,
  type RunningGit,
  spawnGit,
  textOf,
} from './run.ts';

/** A transfer that this process terminated, or refused to start; `stderr` is what it had printed until then. */
export class TransferEnded extends GitFailure {}

/** Runs the git commands that communicate with another machine, and others that start helper processes. */
export interface Transfers {
  /**
   * Runs a command to its end and resolves to its standard output. Rejects with a GitFailure if it fails or exceeds a
   * limit, with a TransferEnded if `end` or `close` ended it; no process that it started is left then.
   */
  run(command: GitCommand, limit: Limit): Promise<string>;
  /** Like `run`, but also resolves to whether the other side spoke git's protocol, and to its object format. */
  ask(command: GitCommand, limit: Limit): Promise<{ out: string; isGit: boolean; format: ObjectFormat }>;
  /** Ends all running transfers. */
  end(): void;
  /** Like `end`, and also rejects later calls. */
  close(): void;
}

/** How transfers end. */
interface Ending {
  /** What ends a transfer before it is done; SIGTERM lets git remove its locks. */
  signal?: NodeJS.Signals;
  /** Whether a transfer goes on when this process exits; by default it ends. */
  outlivesExit?: boolean;
}

/**
 * git starts helper processes for a transfer (ssh, git-remote-https), which can wait for the network forever after git
 * itself has ended. So each transfer is a process group, and the signal is sent to the whole group, also when this
 * process exits, unless `outlivesExit` is set.
 */
export function createTransfers(
  context: GitContext,
  { signal = 'SIGKILL', outlivesExit = false }: Ending = {},
): Transfers {
  const running = new Set<RunningGit>();
  const ended = new WeakSet<RunningGit>();
  let isClosed = false;
  const endAll = (): void => {
    for (const git of running) {
      ended.add(git);
      git.stop();
    }
  };

  const transfer = async (command: GitCommand, limit: Limit, extraEnv = {}): Promise<Output> => {
    if (isClosed) throw new TransferEnded(command, null, '');
    const chunks: Buffer[] = [];
    const how = { onChunk: collectInto(chunks), limit, signal, isGroup: true };
    const git = spawnGit({ ...context, env: { ...context.env, ...extraEnv } }, command, how);
    if (running.size === 0 && !outlivesExit) process.on('exit', endAll);
    running.add(git);
    const { code, stderr, exceeded } = await git.end;
    running.delete(git);
    if (running.size === 0) process.off('exit', endAll);
    const stdout = textOf(chunks);
    if (code === 0) return { stdout, stderr };
    const text = exceeded?.stderr ?? `${stderr.replaceAll(PACKET_TRACE, '')}${stdout}`;
    throw new (ended.has(git) ? TransferEnded : GitFailure)(command, code, text);
  };

  return {
    run: async (command, limit) => (await transfer(command, limit)).stdout,
    ask: async (command, limit) => {
      const { stdout, stderr } = await transfer(command, limit, { GIT_TRACE_PACKET: '1' });
      const format = SHA256_ANNOUNCED.test(stderr) ? 'sha256' : 'sha1';
      return { out: stdout, isGit: stderr.search(PACKET_TRACE) >= 0, format };
    },
    end: endAll,
    close: () => {
      isClosed = true;
      endAll();
    },
  };
}

interface Output {
  stdout: string;
  stderr: string;
}

/** A packet of the other side, which alone writes what follows the first `<`. */
const SHA256_ANNOUNCED = /^[\d:.]+ \S+ +packet: +[^\s<]+< .*\bobject-format=sha256\b/m;
/** A line of `GIT_TRACE_PACKET`: one packet of git's protocol. */
const PACKET_TRACE = /^[\d:.]+ \S+ +packet: .*\n?/gm;
