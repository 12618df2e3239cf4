import type { ChildProcessWithoutNullStreams as Child } from 'node:child_process';
import { type GitCommand, LEFT_OUT, type ObjectFormat } from './commands.ts';
import { type GitContext, GitFailure, hasPipes, startGit } from './run.ts';

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

/**
 * A transfer starts helpers of its own (ssh, git-remote-https), which can hang in the network for ever when only git
 * is ended. So each runs as a group of processes, and the whole group is ended: by `signal`, also when this process
 * ends by itself.
 */
export function createTransfers(context: GitContext, signal: NodeJS.Signals = 'SIGKILL'): Transfers {
  const running = new Set<Child>();
  const ended = new WeakSet<Child>();
  let isClosed = false;
  const endAll = (): void => {
    for (const child of running) {
      ended.add(child);
      endGroup(child, signal);
    }
  };
  const begin = (child: Child): void => {
    if (running.size === 0) process.on('exit', endAll);
    running.add(child);
  };
  const forget = (child: Child): void => {
    running.delete(child);
    if (running.size === 0) process.off('exit', endAll);
  };

  const carryOut = async (command: GitCommand, limit: TransferLimit, more = {}): Promise<Said> => {
    if (isClosed) throw new TransferEnded(command, null, '');
    const { child, end } = startGit({ ...context, env: { ...context.env, ...more } }, command, true);
    if (!hasPipes(child)) throw new GitFailure(command, null, (await end).error ?? 'EMFILE');
    child.stdin.on('error', () => undefined).end();
    begin(child);
    const watch = watchLimit(limit, () => endGroup(child, signal));
    const said = collect(child, watch.heard);
    const { code, error } = await end;
    forget(child);
    const exceeded = watch.end();
    if (code === 0) return said;
    const why = `${error ?? said.err.replaceAll(TRACED, '').replaceAll(LEFT_OUT, '')}${said.out}`;
    const Failure = ended.has(child) ? TransferEnded : GitFailure;
    throw new Failure(command, code, exceeded ?? why);
  };

  return {
    run: async (command, limit) => (await carryOut(command, limit)).out,
    ask: async (command, limit) => {
      const { out, err } = await carryOut(command, limit, { GIT_TRACE_PACKET: '1' });
      const format = TOLD_SHA256.test(err) ? 'sha256' : 'sha1';
      return { out, isGit: err.search(TRACED) >= 0, format };
    },
    end: endAll,
    close: () => {
      isClosed = true;
      endAll();
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

function collect(child: Child, onComplaint: () => void): Said {
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said.out = (said.out + text).slice(-MAX_OUTPUT);
  });
  child.stderr.setEncoding('utf8').on('data', (text) => {
    onComplaint();
    said.err = (said.err + text).slice(-MAX_OUTPUT);
  });
  return said;
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
