import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';

/**
 * Makes a program `docker` that answers `compose config` with what Docker Compose was recorded to say of a project
 * (test/golden/compose), and with its warning. Resolves to the folder of the program, for the PATH.
 */
export async function recordedCompose(project: string, warning = ''): Promise<string> {
  const folder = await temporaryFolder();
  const script = `#!/bin/sh
case "$*" in
  *version*) ;;
  *--no-interpolate*) exec cat '${project}/raw.json' ;;
  *--environment*) exec cat '${project}/environment.txt' ;;
  *) printf '%s' '${warning}' >&2; exec cat '${project}/resolved.json' ;;
esac
`;
  await writeProgram(folder, script);
  return folder;
}

/** Makes a program `docker` whose Compose refuses every file with this message. */
export async function refusingCompose(message: string): Promise<string> {
  const folder = await temporaryFolder();
  const script = `#!/bin/sh\ncase "$*" in *version*) exit 0 ;; esac\nprintf '%s\\n' '${message}' >&2\nexit 15\n`;
  await writeProgram(folder, script);
  return folder;
}

async function writeProgram(folder: string, script: string): Promise<void> {
  const file = join(folder, 'docker');
  await writeFile(file, script);
  await chmod(file, 0o755);
}
