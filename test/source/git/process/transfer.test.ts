import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createTransfers } from '../../../../src/source/git/process/transfer.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';
import { command, failureOf } from './failure.ts';

it('a transfer that ignores SIGTERM is killed, with what it has started', async () => {
  const folder = await temporaryFolder();
  const script = `#!/bin/sh\ntrap '' TERM\nsleep 600 &\necho $! > ${folder}/helper\nwait\n`;
  await writeFiles(folder, { git: script });
  await chmod(join(folder, 'git'), 0o700);
  const context = { folder, env: { PATH: `${folder}:/usr/bin:/bin` }, timeLimit: 60_000 };
  const transfers = createTransfers(context, { signal: 'SIGTERM', outlivesExit: true });
  const failure = await failureOf(transfers.run(command('push'), { total: 500, silence: 60_000 }));
  expect(failure).toMatchObject({ exitCode: null, stderr: 'not done within 500 ms' });
  const helper = Number(await readFile(join(folder, 'helper'), 'utf8'));
  await expect.poll(() => isRunning(helper)).toBe(false);
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
