import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from './folder.ts';
import type { TestRepository } from './git.ts';

/** An origin behind a program called `ssh`, which runs the remote command on this machine and can be made to fail. */
export interface SshOrigin {
  /** The address of the repository, for `GIT_REMOTE`. */
  url: string;
  /** A search path that finds this `ssh` first, for the manager. */
  path: string;
  /**
   * Sets a shell script that every later call runs first; `$command` is the remote command. An empty script ends it.
   */
  behave(script: string): Promise<void>;
  /** Process ids of all calls so far. */
  calls(): Promise<number[]>;
  /** The number of fetches among these calls. */
  fetches(): Promise<number>;
}

/** Makes such an origin of the bare repository at this path. */
export async function serveSsh(bare: string): Promise<SshOrigin> {
  const folder = await temporaryFolder();
  const [behaviour, calls] = [join(folder, 'behaviour'), join(folder, 'calls')];
  await Promise.all([writeFile(behaviour, ''), writeFile(calls, '')]);
  const program = `#!/bin/sh
for command; do :; done
echo "$$ $command" >> '${calls}'
. '${behaviour}'
exec sh -c "$command"
`;
  await writeFile(join(folder, 'ssh'), program, { mode: 0o755 });
  const lines = async (): Promise<string[]> => (await readFile(calls, 'utf8')).split('\n').filter(Boolean);
  return {
    url: `ssh://git@forge.example${bare}`,
    path: `${folder}:${process.env['PATH']}`,
    behave: (script) => writeFile(behaviour, script),
    calls: async () => (await lines()).map((line) => Number.parseInt(line, 10)),
    fetches: async () => (await lines()).filter((line) => line.includes('upload-pack')).length,
  };
}

/** Whether any of these processes still runs. */
export function areAlive(ids: readonly number[]): boolean {
  return ids.some((id) => {
    try {
      process.kill(id, 0);
      return true;
    } catch {
      return false;
    }
  });
}

/** A script for `behave`: prints messages forever and never runs git. */
export const ENDLESS_MESSAGES = 'while :; do echo waiting >&2; sleep 0.3; done\n';
/** A script for `behave`: accepts the connection and sends nothing. */
export const SILENCE = 'exec sleep 600\n';

/** Waits until the first record of ids is at origin. After that, the manager pushes only if something changes. */
export async function waitForFirstRecord({ bare }: { bare: TestRepository }): Promise<void> {
  while ((await bare.git('for-each-ref', 'refs/holdfast/record/')) === '') await sleep(50);
}
