import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Machine } from '../../../src/source/git/repository/repository.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { MACHINE } from './support.ts';

/** A machine whose `git` first runs these lines of shell, and then, unless they exit, the real git. Goes with the test. */
export async function machineWithGit(lines: string): Promise<Machine> {
  const folder = await temporaryFolder();
  const path = process.env['PATH'];
  const script = `#!/bin/sh\n${lines}\nPATH='${path}' exec git "$@"\n`;
  await writeFile(join(folder, 'git'), script, { mode: 0o755 });
  return { ...MACHINE, env: { PATH: `${folder}:${path}` } };
}
