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
/** Bytes, many times what the tests need at once. Containers often have only 64 MB there. */
const ENOUGH = 2 ** 30;

/**
 * Runs once before all tests: sets `TMPDIR` to a folder in memory, unless it is set already. This saves the waiting for
 * the disk, and a sixth of the processor time of tests with git. It needs enough room, and programs must run there.
 */
export function setup(): void {
  if (process.env['TMPDIR'] !== undefined || !hasRoom()) return;
  const folder = mkdtempSync(join(realpathSync(MEMORY), 'holdfast-tests-'));
  // A `teardown` would not run after Ctrl-C, and the folder would keep its memory.
  process.once('exit', () => removeNow(folder));
  // The mode of /tmp, since some tests run programs as other users.
  chmodSync(folder, 0o1777);
  if (runsPrograms(folder)) process.env['TMPDIR'] = folder;
}

function removeNow(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true });
  } catch {
    // A process that outlived the run still writes there.
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

/** Whether programs can be run from a folder, as tests run git hooks; not if it is mounted with `noexec`. */
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
