import { readdir } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { runProgram, serve, setUpFleet, stop, takenPort } from './program.ts';

/** Printed with a new password. */
const PASSWORD_NOTICE = /This is shown once/;

describe('a first start', () => {
  it('makes and shows a password only if it succeeds, even after failed starts', async () => {
    const setup = await setUpFleet();
    const failing = [
      ['git is missing', { ...setup.env, PATH: await temporaryFolder() }],
      ['the port is in use', { ...setup.env, PORT: await takenPort() }],
    ] as const;
    for (const [name, env] of failing) {
      const program = runProgram(['serve'], env);
      expect(await program.ended, name).not.toBe(0);
      expect(program.output(), name).not.toMatch(PASSWORD_NOTICE);
      expect(await readdir(setup.dataFolder), name).not.toContain('admin.json');
    }
    const program = await serve(setup);
    await program.waitFor(PASSWORD_NOTICE);
    expect(await readdir(setup.dataFolder)).toContain('admin.json');
    await stop(program);
  });
});
