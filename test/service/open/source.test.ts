import { chown } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { testRepository } from '../../support/git.ts';
import { startManager } from '../../support/manager.ts';

describe.runIf(process.getuid?.() === 0)('a start as root in a clone', () => {
  it.each([
    ['of another user is warned of', 65_534, 1],
    ['of root is not', 0, 0],
  ])('%s', async (_, owner, warnings) => {
    const repository = await testRepository();
    await chown(join(repository.folder, '.git'), owner, owner);
    const { log } = await startManager({ repository });
    const found = log.filter(({ msg }) => String(msg).includes('runs as root in the clone of another user'));
    const warning = expect.objectContaining({ level: 40, folder: repository.folder, owner });
    expect(found).toEqual(Array(warnings).fill(warning));
  });
});
