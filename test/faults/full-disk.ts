import { execFileSync } from 'node:child_process';
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { works } from '../support/tools.ts';

/** A folder whose disk can become full, for one process or for all. */
interface SmallDisk {
  folder: string;
  /** From now on the process with this id cannot make files larger. */
  fill(pid: number): void;
  free(pid: number): void;
}

/** One way to make a disk full, and whether this machine lets us. */
interface Way {
  name: string;
  isPossible: boolean;
  make(): Promise<SmallDisk>;
}

/** A file system of a few megabytes that is really full. */
async function smallFileSystem(): Promise<SmallDisk> {
  const folder = join(await temporaryFolder(), 'disk');
  await mkdir(folder);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', folder]);
  onTestFinished(async () => void execFileSync('umount', ['--lazy', folder]));
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill: () => {
      writeFileSync(ballast, '');
      for (const size of [1 << 20, 1 << 16, 1 << 12]) growUntilFull(ballast, Buffer.alloc(size));
    },
    free: () => rmSync(ballast),
  };
}

function growUntilFull(path: string, piece: Buffer): void {
  for (;;) {
    try {
      appendFileSync(path, piece);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}

/** A limit on the size of files, for the process and every git that it has started or starts. */
async function limitedProcess(): Promise<SmallDisk> {
  const limit = (pid: number, size: string): void => {
    execFileSync('prlimit', ['--pid', `${pid}`, `--fsize=${size}:`]);
    // Whatever it starts from here on has the limit from the beginning.
    for (const id of childrenOf(pid)) {
      try {
        execFileSync('prlimit', ['--pid', `${id}`, `--fsize=${size}:`]);
      } catch (error) {
        // A git that has come to its end since.
        if (existsSync(`/proc/${id}`)) throw error;
      }
    }
  };
  return {
    folder: await temporaryFolder(),
    fill: (pid) => limit(pid, '1'),
    free: (pid) => limit(pid, 'unlimited'),
  };
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}

function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  return works('unshare', ['--mount', 'mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', '/mnt']);
}

/** Every way; a test says in its name which one it takes, and is skipped where this machine does not allow it. */
export const WAYS: readonly Way[] = [
  { name: 'a small file system', isPossible: canMount(), make: smallFileSystem },
  {
    name: 'a limit on file sizes',
    isPossible: process.platform === 'linux' && works('prlimit', ['--version']),
    make: limitedProcess,
  },
];
