import { openSync } from 'node:fs';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { createMaintenance } from '../../../../src/source/git/repository/maintenance.ts';
import { findRepository, type Repository } from '../../../../src/source/git/repository/repository.ts';

/** Cleans up a repository in which that fails. Takes all file descriptors while the clean-up waits to remove its files. */
const [folder = '', path = ''] = process.argv.slice(2);
const repository = (await findRepository(folder, { env: { PATH: path }, timeLimit: 20_000 })) as Repository;
const takeFiles = (): void => {
  try {
    for (;;) openSync('/dev/null', 'r');
  } catch {
    process.stdout.write('no file can be opened\n');
  }
};
const maintenance = createMaintenance(
  repository,
  { command: commands.repackReached(), closeWriters: async () => undefined },
  () => void setTimeout(takeFiles, 1000),
);
await maintenance.run();
process.stdout.write('done\n');
process.exit(0);
