import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';

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
}

/** For a bare repository at `bare`. */
export async function serveSsh(bare: string): Promise<SshOrigin> {
  const folder = await temporaryFolder();
  const [behaviour, calls] = [join(folder, 'behaviour'), join(folder, 'calls')];
  await Promise.all([writeFile(behaviour, ''), writeFile(calls, '')]);
  const program = `#!/bin/sh
echo $$ >> '${calls}'
for command; do :; done
. '${behaviour}'
exec sh -c "$command"
`;
  await writeFile(join(folder, 'ssh'), program, { mode: 0o755 });
  return {
    url: `ssh://git@forge.example${bare}`,
    path: `${folder}:${process.env['PATH']}`,
    behave: (script) => writeFile(behaviour, script),
    calls: async () => (await readFile(calls, 'utf8')).split('\n').filter(Boolean).map(Number),
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
export const TALKS_FOR_EVER = 'while :; do echo waiting >&2; sleep 0.3; done\n';
/** What takes the connection and says nothing. */
export const SAYS_NOTHING = 'exec sleep 600\n';
