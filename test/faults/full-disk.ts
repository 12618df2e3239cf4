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
  /** From now on the process with this id cannot enlarge files. */
  fill(pid: number): void;
  /** Makes space again. */
  free(pid: number): void;
}

/** A way to make a disk full. */
interface Way {
  name: string;
  /** Whether it works on this machine. */
  isPossible: boolean;
  make(): Promise<SmallDisk>;
}

/** Makes a file system of so many megabytes, in memory; `rights` is `noexec` if no program may run from it. */
export async function mountDisk(megabytes: number, rights: 'exec' | 'noexec' = 'exec'): Promise<string> {
  const folder = join(await temporaryFolder(), 'disk');
  await mkdir(folder);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,${rights}`, 'tmpfs', folder]);
  onTestFinished(async () => void execFileSync('umount', ['--lazy', folder]));
  return folder;
}

/** A file system of a few megabytes, which a file fills up. */
async function smallFileSystem(): Promise<SmallDisk> {
  const folder = await mountDisk(8);
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

function growUntilFull(path: string, chunk: Buffer): void {
  for (;;) {
    try {
      appendFileSync(path, chunk);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}

/** A limit on the size of files, for the process and for every git that it has started or will start. */
async function limitedProcess(): Promise<SmallDisk> {
  const limit = (pid: number, size: string): void => {
    execFileSync('prlimit', ['--pid', `${pid}`, `--fsize=${size}:`]);
    // Processes that it starts later inherit the limit.
    for (const id of childrenOf(pid)) {
      try {
        execFileSync('prlimit', ['--pid', `${id}`, `--fsize=${size}:`]);
      } catch (error) {
        // The process may have ended meanwhile.
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

/** Whether `mountDisk` works on this machine. */
export function canMount(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  return works('unshare', ['--mount', 'mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', '/mnt']);
}

/** All ways to make a disk full; a test of one that does not work on this machine is skipped. */
export const WAYS: readonly Way[] = [
  { name: 'a small file system', isPossible: canMount(), make: smallFileSystem },
  {
    name: 'a limit on file sizes',
    isPossible: process.platform === 'linux' && works('prlimit', ['--version']),
    make: limitedProcess,
  },
];
