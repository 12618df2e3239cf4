import { execFile } from 'node:child_process';
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '../folder.ts';
import { BUSYBOX } from './images.ts';

const execute = promisify(execFile);

/** Runs lines of a shell with Docker's command line for one engine; resolves to what they print. */
export type DockerShell = (lines: string, cwd?: string) => Promise<string>;

/** Returns a shell whose `docker` speaks to this engine and builds without BuildKit. `HOME` has no settings of Docker. */
export async function dockerShell(socket: string, env: Record<string, string> = {}): Promise<DockerShell> {
  const home = await temporaryFolder();
  const all = {
    PATH: process.env['PATH'],
    HOME: home,
    DOCKER_HOST: `unix://${socket}`,
    DOCKER_BUILDKIT: '0',
  };
  return async (lines, cwd = home) => {
    const { stdout } = await execute('sh', ['-euc', lines], { cwd, env: { ...all, ...env } });
    return stdout;
  };
}

/** Makes an image from the Node.js that runs this test, the libraries that it loads, and busybox. */
export async function importNodeImage(shell: DockerShell, name: string): Promise<void> {
  const root = await temporaryFolder();
  const put = async (from: string, to: string): Promise<void> => {
    await mkdir(dirname(join(root, to)), { recursive: true });
    await cp(from, join(root, to), { dereference: true });
  };
  await put(process.execPath, 'usr/local/bin/node');
  await put(BUSYBOX, 'bin/busybox');
  const { stdout } = await execute('ldd', [process.execPath]);
  for (const [library] of stdout.matchAll(/\/\S+/g)) await put(library, library);
  await mkdir(join(root, 'usr/bin'));
  for (const link of ['bin/sh', 'usr/bin/env']) await symlink('/bin/busybox', join(root, link));
  for (const folder of ['etc', 'tmp']) await mkdir(join(root, folder));
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\nnode:x:1000:1000::/:/bin/sh\n');
  await shell(
    `tar -C '${root}' -c . | docker import --change 'ENV PATH=/usr/local/bin:/usr/bin:/bin' - ${name}`,
  );
}
