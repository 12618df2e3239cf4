import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { type GitCommand, LEFT_OUT, type ObjectFormat } from './commands.ts';
import { type GitContext, GitFailure, hasPipes } from './run.ts';

/** Longest text that is kept of what a transfer says, in characters. */
const MAX_OUTPUT = 200_000;

/** Milliseconds that a transfer may take in all, and that it may say nothing. */
export interface TransferLimit {
  total: number;
  silence: number;
}

/** A transfer that this process has ended itself, or not begun any more; `stderr` is what was said until then. */
export class TransferEnded extends GitFailure {}

/** Runs the git commands that talk to another machine, and others that start helpers. */
export interface Transfers {
  /**
   * Runs a command to its end and resolves to what it printed. Rejects with a GitFailure when it fails or exceeds a
   * limit, with `TransferEnded` where one of the calls below ended it; nothing that it started lives on then.
   */
  run(command: GitCommand, limit: TransferLimit): Promise<string>;
  /** The same; tells also whether the other side has said anything in git's protocol, and how it makes ids. */
  ask(
    command: GitCommand,
    limit: TransferLimit,
  ): Promise<{ out: string; isGit: boolean; format: ObjectFormat }>;
  /** Ends what is under way. */
  end(): void;
  /** The same, and begins nothing more: later calls reject. */
  close(): void;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/**
 * A transfer starts helpers of its own (ssh, git-remote-https), which can hang in the network for ever when only git
 * is ended. So each runs as a group of processes, and the whole group is ended: by `signal`, also when this process
 * ends by itself.
 */
export function createTransfers(context: GitContext, signal: NodeJS.Signals = 'SIGKILL'): Transfers {
  const running = new Set<Child>();
  const ended = new WeakSet<Child>();
  let isClosed = false;
  const end = (): void => {
    for (const child of running) {
      ended.add(child);
      endGroup(child, signal);
    }
  };
  const begin = (child: Child): void => {
    if (running.size === 0) process.on('exit', end);
    running.add(child);
  };
  const forget = (child: Child): void => {
    running.delete(child);
    if (running.size === 0) process.off('exit', end);
  };

  const carryOut = async (command: GitCommand, limit: TransferLimit, more = {}): Promise<Said> => {
    if (isClosed) throw new TransferEnded(command, null, '');
    const child = startGroup({ ...context, env: { ...context.env, ...more } }, command);
    if (!hasPipes(child)) return failureToStart(child, command);
    begin(child);
    try {
      return await endOf(
        child,
        command,
        watchLimit(limit, () => endGroup(child, signal)),
      );
    } catch (error) {
      if (!ended.has(child) || !(error instanceof GitFailure)) throw error;
      throw new TransferEnded(command, error.exitCode, error.stderr);
    } finally {
      forget(child);
    }
  };

  return {
    run: async (command, limit) => (await carryOut(command, limit)).out,
    ask: async (command, limit) => {
      const { out, err } = await carryOut(command, limit, { GIT_TRACE_PACKET: '1' });
      const format = TOLD_SHA256.test(err) ? 'sha256' : 'sha1';
      return { out, isGit: err.search(TRACED) >= 0, format };
    },
    end,
    close: () => {
      isClosed = true;
      end();
    },
  };
}

/** What a transfer has printed. */
interface Said {
  out: string;
  err: string;
}

/** Of what the other side said in git's protocol; it decides what stands behind the first `<`. */
const TOLD_SHA256 = /^[\d:.]+ \S+ +packet: +[^\s<]+< .*\bobject-format=sha256\b/m;
/** A line about what was said in git's protocol. */
const TRACED = /^[\d:.]+ \S+ +packet: .*\n?/gm;

function endOf(child: Child, command: GitCommand, watch: LimitWatch): Promise<Said> {
  const said = { out: '', err: '' };
  collect(child.stdout, (text) => {
    said.out = (said.out + text).slice(-MAX_OUTPUT);
  });
  collect(child.stderr, (text) => {
    watch.heard();
    said.err = (said.err + text).slice(-MAX_OUTPUT);
  });
  return new Promise((resolve, reject) => {
    const finish = (code: number | null, reason: string): void => {
      const why = watch.end() ?? `${reason.replaceAll(TRACED, '').replaceAll(LEFT_OUT, '')}${said.out}`;
      if (code === 0) resolve(said);
      else reject(new GitFailure(command, code, why));
    };
    child.on('error', (error) => finish(null, String(error)));
    child.on('close', (code) => finish(code, said.err));
  });
}

function failureToStart(child: Child, command: GitCommand): Promise<never> {
  return new Promise((_, reject) => {
    child.on('error', (error) => reject(new GitFailure(command, null, String(error))));
  });
}

interface LimitWatch {
  heard(): void;
  /** Ends the watch; why the transfer was ended, or null where it was not. */
  end(): string | null;
}

function watchLimit({ total, silence }: TransferLimit, onExceeded: () => void): LimitWatch {
  let why: string | null = null;
  const exceed = (limit: number) => (): void => {
    why = `not done within ${limit} ms`;
    onExceeded();
  };
  const whole = setTimeout(exceed(total), total);
  let pause = setTimeout(exceed(silence), silence);
  return {
    heard: () => {
      clearTimeout(pause);
      pause = setTimeout(exceed(silence), silence);
    },
    end: () => {
      clearTimeout(whole);
      clearTimeout(pause);
      return why;
    },
  };
}

function startGroup(context: GitContext, command: GitCommand): Child {
  return spawn('git', [...command.args], {
    cwd: context.folder,
    env: { ...context.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
}

function collect(stream: Readable, take: (text: string) => void): void {
  stream.setEncoding('utf8').on('data', take);
}

function endGroup({ pid, stdout, stderr }: Child, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group has ended by itself.
  }
  // Whoever left the group may hold these open.
  stdout.destroy();
  stderr.destroy();
}
