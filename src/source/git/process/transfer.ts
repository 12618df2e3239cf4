import type { ChildProcessWithoutNullStreams as Child } from 'node:child_process';
import type { GitCommand } from './commands.ts';
import type { ObjectFormat } from './object-ids.ts';
import { type GitContext, GitFailure, GRACE, hasPipes, KEPT, startGit } from './run.ts';

/** Characters of the output of a transfer that are kept, the last ones. */
const MAX_OUTPUT = 200_000;
/** The same of what it says on stderr: as much as a GitFailure keeps as it is. */
export const MAX_STDERR = 2 * KEPT;

/** Limits of a transfer, in milliseconds: for all of it, and for the time without any message from it. */
export interface TransferLimit {
  total: number;
  silence: number;
}

/** A transfer that this process terminated, or refused to start; `stderr` is what it had printed until then. */
export class TransferEnded extends GitFailure {}

/** Runs the git commands that communicate with another machine, and others that start helper processes. */
export interface Transfers {
  /**
   * Runs a command to its end and resolves to its standard output. Rejects with a GitFailure if it fails or exceeds a
   * limit, with a TransferEnded if `end` or `close` ended it; no process that it started is left then.
   */
  run(command: GitCommand, limit: TransferLimit): Promise<string>;
  /** Like `run`, but also resolves to whether the other side spoke git's protocol, and to its object format. */
  ask(
    command: GitCommand,
    limit: TransferLimit,
  ): Promise<{ out: string; isGit: boolean; format: ObjectFormat }>;
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
  const running = new Set<Child>();
  const ended = new WeakSet<Child>();
  let isClosed = false;
  const endAll = (): void => {
    for (const child of running) {
      ended.add(child);
      endGroup(child, signal);
    }
  };
  const remember = (child: Child): void => {
    if (running.size === 0 && !outlivesExit) process.on('exit', endAll);
    running.add(child);
  };
  const forget = (child: Child): void => {
    running.delete(child);
    if (running.size === 0) process.off('exit', endAll);
  };

  const transfer = async (command: GitCommand, limit: TransferLimit, extraEnv = {}): Promise<Output> => {
    if (isClosed) throw new TransferEnded(command, null, '');
    const { child, end } = startGit({ ...context, env: { ...context.env, ...extraEnv } }, command, true);
    if (!hasPipes(child)) throw new GitFailure(command, null, (await end).error ?? 'EMFILE');
    child.stdin.on('error', () => undefined).end();
    remember(child);
    const watch = watchLimit(limit, () => endGroup(child, signal));
    const output = collect(child, watch.restartSilence);
    const { code, error } = await end;
    forget(child);
    const exceeded = watch.end();
    if (code === 0) return output;
    const messages = error ?? output.stderr.replaceAll(PACKET_TRACE, '');
    const Failure = ended.has(child) ? TransferEnded : GitFailure;
    throw new Failure(command, code, exceeded ?? `${messages}${output.stdout}`);
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

function collect(child: Child, onStderr: () => void): Output {
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output.stdout = (output.stdout + text).slice(-MAX_OUTPUT);
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    onStderr();
    output.stderr = (output.stderr + text).slice(-MAX_STDERR);
  });
  return output;
}

interface LimitWatch {
  /** Call when the transfer has printed something. */
  restartSilence(): void;
  /** Ends the watch; returns a message if a limit was exceeded, and otherwise null. */
  end(): string | null;
}

function watchLimit({ total, silence }: TransferLimit, onExceeded: () => void): LimitWatch {
  let message: string | null = null;
  const exceed = (limit: number) => (): void => {
    message = `not done within ${limit} ms`;
    onExceeded();
  };
  const totalTimer = setTimeout(exceed(total), total);
  let silenceTimer = setTimeout(exceed(silence), silence);
  return {
    restartSilence: () => {
      clearTimeout(silenceTimer);
      silenceTimer = setTimeout(exceed(silence), silence);
    },
    end: () => {
      clearTimeout(totalTimer);
      clearTimeout(silenceTimer);
      return message;
    },
  };
}

/** Signals the group; what is left of it after SIGTERM is killed. */
function endGroup(child: Child, signal: NodeJS.Signals): void {
  const { pid, stdout, stderr } = child;
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
    if (signal === 'SIGTERM') setTimeout(() => endGroup(child, 'SIGKILL'), GRACE).unref();
  } catch {
    // The group has already ended.
  }
  // A process that left the group can hold the pipes open.
  stdout.destroy();
  stderr.destroy();
}
