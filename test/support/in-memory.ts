import { execFileSync } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  mkdtempSync,
  realpathSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
/** Bytes: many times what the tests need at once. Containers often have 64 MB there. */
const ENOUGH = 2 ** 30;

/**
 * Runs once before all tests: has their temporary files made in memory, where there is room and programs may be run.
 * The kernel's work for files on a disk is a sixth of the processor time of tests with git, and there is the waiting for
 * the disk. A `TMPDIR` that is set is left alone.
 */
export function setup(): void {
  if (process.env['TMPDIR'] !== undefined || !hasRoom()) return;
  const folder = mkdtempSync(join(realpathSync(MEMORY), 'holdfast-tests-'));
  // A teardown would not run after Ctrl-C, and what stays takes memory.
  process.once('exit', () => removeNow(folder));
  // As /tmp: some tests run programs as other users.
  chmodSync(folder, 0o1777);
  if (runsPrograms(folder)) process.env['TMPDIR'] = folder;
}

function removeNow(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // A process that outlives the run writes there.
  }
}

function hasRoom(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ENOUGH;
  } catch {
    return false;
  }
}

/** Hooks are; not on what is mounted with `noexec`. */
function runsPrograms(folder: string): boolean {
  const program = join(folder, 'program');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  try {
    execFileSync(program);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(program);
  }
}
