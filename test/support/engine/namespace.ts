import { existsSync, readFileSync } from 'node:fs';
import { works } from '../tools.ts';
import { BUSYBOX } from './images.ts';

/** Is set in the namespace in which tests can start an engine. */
const INSIDE = 'HOLDFAST_TEST_ENGINE';

/**
 * Runs in the new namespace before the command: brings loopback up, and puts the temporary folder and the engine's
 * sockets in memory that is gone with the namespace. The shell stays as process 1, since it reaps the orphans.
 */
const PREPARE = `
set -e
${BUSYBOX} ifconfig lo up
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/test
export TMPDIR=/run/test ${INSIDE}=1
"$@" &
wait $!`;

/**
 * Returns a command line that runs a command with a network, mounts and processes of its own. An engine that is started
 * there changes nothing outside, its ports are on its own loopback, and nothing of it outlives the command.
 */
export function inNamespace(command: readonly string[]): string[] {
  const unshare = ['unshare', '--net', '--mount', '--pid', '--fork', '--mount-proc', '--kill-child'];
  return ['setpriv', '--pdeathsig', 'KILL', ...unshare, 'sh', '-c', PREPARE, 'sh', ...command];
}

/** Whether this process is in such a namespace. */
export function isInside(): boolean {
  return process.env[INSIDE] === '1';
}

/** Returns why no engine can be started on this machine; null if nothing is in its way. */
export function obstacleToEngines(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux can start one';
  if (!works('dockerd', ['--version'])) return "dockerd is not installed (Debian's docker.io)";
  if (!existsSync(BUSYBOX) || !isStatic(BUSYBOX))
    return `${BUSYBOX} is not a static program (Debian's busybox-static)`;
  const [command = '', ...args] = inNamespace([BUSYBOX, 'brctl', 'addbr', 'probe']);
  return works(command, args) ? null : 'namespaces, mounts or bridges are not allowed here';
}

/** Whether a program of 64 bits needs no libraries: it has no header that names a loader (PT_INTERP). */
function isStatic(path: string): boolean {
  const elf = readFileSync(path);
  const [start, size, count] = [Number(elf.readBigUInt64LE(32)), elf.readUInt16LE(54), elf.readUInt16LE(56)];
  return Array.from({ length: count }).every((_, index) => elf.readUInt32LE(start + index * size) !== 3);
}
