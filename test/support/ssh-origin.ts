import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from './folder.ts';
import type { TestRepository } from './git.ts';

/** A stand-in for ssh: runs on this machine what it was to run on another one, after whatever a test has it do before. */
export interface SshOrigin {
  /** The address of the repository. */
  url: string;
  /** The search path with the stand-in in front. */
  path: string;
  /** Shell text that runs before git does; "$command" is what was asked for. Empty for nothing. */
  behave(script: string): Promise<void>;
  /** Process ids of all calls so far. */
  calls(): Promise<number[]>;
  /** How many of them were fetches. */
  fetches(): Promise<number>;
}

/** For a bare repository at `bare`. */
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

/** Whether any of these processes is alive. */
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

/** What keeps an ssh talking for ever, and never gets to git. */
export const ENDLESS_MESSAGES = 'while :; do echo waiting >&2; sleep 0.3; done\n';
/** What takes the connection and says nothing. */
export const SILENCE = 'exec sleep 600\n';

/** Resolves when the first record of ids is at origin, after which nothing is sent there unasked. */
export async function firstRecord({ bare }: { bare: TestRepository }): Promise<void> {
  while ((await bare.git('for-each-ref', 'refs/holdfast/ids')) === '') await sleep(50);
}
