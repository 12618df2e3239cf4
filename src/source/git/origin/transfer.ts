import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { GitCommand } from '../commands.ts';
import { type GitContext, GitFailure } from '../run.ts';

/** Longest text that is kept of what a transfer says, in characters. */
const MAX_OUTPUT = 200_000;

/** Milliseconds that a transfer may take in all, and that it may say nothing. */
export interface TransferLimit {
  total: number;
  silence: number;
}

/** Runs the git commands that talk to another machine. */
export interface Transfers {
  /**
   * Runs a command to its end and resolves to what it printed. Rejects with a GitFailure when it fails or exceeds a
   * limit; nothing that it started lives on then.
   */
  run(command: GitCommand, limit: TransferLimit): Promise<string>;
  /** Ends what is under way. */
  close(): void;
}

type Child = ChildProcessByStdio<null, Readable, Readable>;

/**
 * A transfer starts helpers of its own (ssh, git-remote-https), which can hang in the network for ever when only git
 * is ended. So each runs as a group of processes, and the whole group is ended.
 */
export function createTransfers(context: GitContext): Transfers {
  const running = new Set<Child>();

  const run = (command: GitCommand, limit: TransferLimit): Promise<string> =>
    new Promise((resolve, reject) => {
      const child = startGroup(context, command);
      running.add(child);
      const said = { out: '', err: '' };
      const watch = watchLimit(limit, () => endGroup(child));
      collect(child.stdout, (text) => {
        said.out = (said.out + text).slice(-MAX_OUTPUT);
      });
      collect(child.stderr, (text) => {
        watch.heard();
        said.err = (said.err + text).slice(-MAX_OUTPUT);
      });
      const finish = (code: number | null, reason: string): void => {
        running.delete(child);
        const why = watch.end() ?? `${reason}${said.out}`;
        if (code === 0) resolve(said.out);
        else reject(new GitFailure(command, code, why));
      };
      child.on('error', (error) => finish(null, String(error)));
      child.on('close', (code) => finish(code, said.err));
    });

  return { run, close: () => running.forEach(endGroup) };
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

function endGroup({ pid, stdout, stderr }: Child): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended by itself.
  }
  // Whoever left the group may hold these open.
  stdout.destroy();
  stderr.destroy();
}
