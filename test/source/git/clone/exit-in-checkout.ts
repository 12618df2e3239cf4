import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openClone } from '../../../../src/source/git/clone/clone.ts';

/** Writes many files into the clone in `argv[2]`, and exits as soon as git is at its work tree. `argv[3]`: the data folder. */
const [, , clone = '', dataFolder = ''] = process.argv;
const machine = { env: { PATH: process.env['PATH'] }, timeLimit: 60_000 };
const source = await openClone({ folder: join(clone, 'ds'), branch: null, machine, dataFolder });
const edits = Array.from({ length: 1500 }, (_, index) => ({ path: `apps/f${index}.yaml`, text: 'b\n' }));
const author = { name: 'Olga', email: 'olga@example.com' };
const drafts = [{ edits, message: 'many', author, at: 1_700_000_000_000 }];
source.publisher.publish(await source.reader.head(), drafts).catch(() => undefined);
const watch = (): void => {
  if (existsSync(join(clone, '.git/index.lock'))) process.exit(0);
  setImmediate(watch);
};
watch();
