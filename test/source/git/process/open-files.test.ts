import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { syncFiles } from '../../../../src/disk/sync.ts';
import { temporaryFolder, writeFiles } from '../../../support/folder.ts';

const run = promisify(execFile);

it('runGit, a transfer and a conversation reject with a GitFailure while no file descriptor is left, and work again afterwards', async () => {
  const script = fileURLToPath(new URL('run-out-of-files.ts', import.meta.url));
  const command = 'ulimit -n 256; exec "$0" --import tsx "$1"';
  const { stdout } = await run('sh', ['-c', command, process.execPath, script]);
  expect(JSON.parse(stdout)).toEqual({
    run: ['GitFailure', 'git version'],
    transfer: ['GitFailure', 'git version'],
    conversation: ['GitFailure', 'started'],
  });
});

it('syncFiles needs few file descriptors for any number of files, and skips missing ones', async () => {
  const folder = await temporaryFolder();
  const paths = Array.from({ length: 300 }, (_, index) => `apps/${index % 30}/${index}.yaml`);
  await writeFiles(folder, Object.fromEntries(paths.map((path) => [path, 'x\n'])));
  const sync = fileURLToPath(new URL('../../../../src/disk/sync.ts', import.meta.url));
  const script = `import(${JSON.stringify(sync)}).then(({ syncFiles }) => syncFiles(process.argv[1], JSON.parse(process.argv[2])))`;
  const command = 'ulimit -n 80; exec "$0" --import tsx -e "$1" "$2" "$3"';
  await run('sh', ['-c', command, process.execPath, script, folder, JSON.stringify(paths)]);
  await syncFiles(folder, [...paths, 'apps/gone/no.yaml', 'else/where.yaml']);
});
